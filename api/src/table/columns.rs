//! The columns of each kind: for built-in kinds a table, for custom ones those of their definition. Source:
//! upstream's `pkg/printers/internalversion`.

use super::jsonpath::JsonPath;
use crate::schemas;
use hindsight_core::kind::{Kind, PrinterColumn, Version};
use hindsight_core::object::Name;
use std::sync::LazyLock;

/// The most columns of a custom kind that are shown. Each is looked up in every object of a list, and a definition
/// has room for tens of thousands.
pub(super) const COLUMNS_MAX: usize = 100;

/// One column, and where its cells come from.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) format: String,
    pub(super) description: String,
    pub(super) priority: i64,
    pub(super) source: Source,
}

/// Where the cells of a column come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// The member at this path, or this text where nothing is found.
    Member {
        path: &'static str,
        missing: &'static str,
    },
    /// The number at this path, 0 where it is absent.
    Count(&'static str),
    /// What `computed` makes under this name.
    Computed(&'static str),
    /// A member of each container of the pod that the object holds at this path.
    Containers { pod: Name, member: &'static str },
    /// The path of a custom kind's column.
    Path(JsonPath),
}

/// `resource: Heading=source, ...`, with a `+` before columns that only a wide table shows. A source is a path,
/// one of the names that `computed` knows (`@`), or a member of each container of the object's pod (`%`). The text
/// after a `?` is shown where nothing is found; without one, `<none>` is. With a `#` before it, it is a number, and
/// 0 where it is absent.
const ROWS: &str = "
pods: Ready=@ready, Status=@pod-status, Restarts=@restarts, Age=@age, +IP=status.podIP, +Node=spec.nodeName, +Nominated Node=status.nominatedNodeName, +Readiness Gates=@readiness-gates
podtemplates: Containers=%name, Images=%image, Pod Labels=@pod-labels
deployments: Ready=@replicas, Up-to-date=#status.updatedReplicas, Available=#status.availableReplicas, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
replicasets: Desired=#spec.replicas, Current=#status.replicas, Ready=#status.readyReplicas, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
replicationcontrollers: Desired=#spec.replicas, Current=#status.replicas, Ready=#status.readyReplicas, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
statefulsets: Ready=@replicas, Age=@age, +Containers=%name, +Images=%image
daemonsets: Desired=#status.desiredNumberScheduled, Current=#status.currentNumberScheduled, Ready=#status.numberReady, Up-to-date=#status.updatedNumberScheduled, Available=#status.numberAvailable, Node Selector=@node-selector, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
controllerrevisions: Controller=@controller, Revision=#revision, Age=@age
jobs: Status=@job-status, Completions=@completions, Duration=@duration, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
cronjobs: Schedule=spec.schedule, Timezone=spec.timeZone, Suspend=@suspend, Active=#@active, Last Schedule=@last-schedule, Age=@age, +Containers=%name, +Images=%image, +Selector=@selector
services: Type=spec.type, Cluster-IP=spec.clusterIP, External-IP=@external-ip, Port(s)=@ports, Age=@age, +Selector=@selector
endpoints: Endpoints=@endpoints, Age=@age
endpointslices: AddressType=addressType, Ports=@slice-ports, Endpoints=@slice-endpoints, Age=@age
ingresses: Class=spec.ingressClassName, Hosts=@hosts, Address=@load-balancer, Ports=@ingress-ports, Age=@age
ingressclasses: Controller=spec.controller, Parameters=@parameters, Age=@age
networkpolicies: Pod-Selector=@pod-selector, Age=@age
configmaps: Data=#@data, Age=@age
secrets: Type=type, Data=#@data, Age=@age
serviceaccounts: Secrets=#@secrets, Age=@age
namespaces: Status=status.phase?, Age=@age
nodes: Status=@node-status, Roles=@roles, Age=@age, Version=status.nodeInfo.kubeletVersion?, +Internal-IP=@internal-ip, +External-IP=@node-external-ip, +OS-Image=status.nodeInfo.osImage?<unknown>, +Kernel-Version=status.nodeInfo.kernelVersion?<unknown>, +Container-Runtime=status.nodeInfo.containerRuntimeVersion?<unknown>
persistentvolumes: Capacity=spec.capacity.storage?0, Access Modes=@access-modes, Reclaim Policy=spec.persistentVolumeReclaimPolicy, Status=@volume-status, Claim=@claim, StorageClass=@volume-class, VolumeAttributesClass=spec.volumeAttributesClassName?<unset>, Reason=status.reason?, Age=@age, +VolumeMode=spec.volumeMode?<unset>
persistentvolumeclaims: Status=@volume-status, Volume=spec.volumeName?, Capacity=@claimed-capacity, Access Modes=@bound-modes, StorageClass=@volume-class, VolumeAttributesClass=spec.volumeAttributesClassName?<unset>, Age=@age, +VolumeMode=spec.volumeMode?<unset>
storageclasses: Provisioner=provisioner, ReclaimPolicy=reclaimPolicy, VolumeBindingMode=volumeBindingMode, AllowVolumeExpansion=@expands, Age=@age
volumeattachments: Attacher=spec.attacher, PV=spec.source.persistentVolumeName, Node=spec.nodeName, Attached=@attached, Age=@age
csinodes: Drivers=#@drivers, Age=@age
customresourcedefinitions: Created At=metadata.creationTimestamp
clusterroles: Created At=metadata.creationTimestamp
roles: Created At=metadata.creationTimestamp
limitranges: Created At=metadata.creationTimestamp
rolebindings: Role=@role, Age=@age, +Users=@users, +Groups=@groups, +ServiceAccounts=@service-accounts
clusterrolebindings: Role=@role, Age=@age, +Users=@users, +Groups=@groups, +ServiceAccounts=@service-accounts
leases: Holder=spec.holderIdentity?, Age=@age
events: Last Seen=@last-seen, Type=type?, Reason=reason?, Object=@object, +Subobject=involvedObject.fieldPath?, +Source=@event-source, Message=@message, +First Seen=@first-seen, +Count=@count, +Name=metadata.name
priorityclasses: Value=#value, Global-Default=@global-default, Age=@age, PreemptionPolicy=preemptionPolicy
poddisruptionbudgets: Min Available=@min-available, Max Unavailable=@max-unavailable, Allowed Disruptions=#status.disruptionsAllowed, Age=@age
horizontalpodautoscalers: Reference=@scale-target, Targets=@targets, MinPods=@min-pods, MaxPods=@max-pods, Replicas=@current-pods, Age=@age
runtimeclasses: Handler=handler, Age=@age
certificatesigningrequests: Age=@age, SignerName=spec.signerName, Requestor=spec.username?, RequestedDuration=@requested-duration, Condition=@csr-condition
mutatingwebhookconfigurations: Webhooks=#@webhooks, Age=@age
validatingwebhookconfigurations: Webhooks=#@webhooks, Age=@age
resourcequotas: Request=@quota-requests, Limit=@quota-limits, Age=@age
csidrivers: AttachRequired=@attach-required, PodInfoOnMount=@pod-info-on-mount, StorageCapacity=@storage-capacity, TokenRequests=@token-requests, RequiresRepublish=@requires-republish, Modes=@lifecycle-modes, Age=@age
csistoragecapacities: StorageClassName=storageClassName, Capacity=capacity
volumeattributesclasses: DriverName=driverName, Age=@age
validatingadmissionpolicies: Validations=#@validations, ParamKind=@param-kind, Age=@age
validatingadmissionpolicybindings: PolicyName=spec.policyName, ParamRef=@param-ref, Age=@age
flowschemas: PriorityLevel=spec.priorityLevelConfiguration.name, MatchingPrecedence=#spec.matchingPrecedence, DistinguisherMethod=spec.distinguisherMethod.type, Age=@age, MissingPL=@missing-level
prioritylevelconfigurations: Type=spec.type, NominalConcurrencyShares=spec.limited.nominalConcurrencyShares, Queues=spec.limited.limitResponse.queuing.queues, HandSize=spec.limited.limitResponse.queuing.handSize, QueueLengthLimit=spec.limited.limitResponse.queuing.queueLengthLimit, Age=@age
resourceclaims: State=@claim-state, Age=@age
resourceslices: Node=spec.nodeName, Driver=spec.driver, Pool=spec.pool.name, Age=@age
servicecidrs: CIDRs=@cidrs, Age=@age
ipaddresses: ParentRef=@parent-ref
apiservices: Service=@api-service, Available=@available, Age=@age
";

/// The columns of every kind's `Scale`, before its age, and what they are described as for custom kinds.
const SCALE: [(&str, &str); 2] = [
    ("Desired=#spec.replicas", "Number of desired replicas"),
    ("Available=#status.replicas", "Number of actual replicas"),
];
const AGE: &str = "Age=@age";

/// The columns of a table of a `Scale`. Source: for custom kinds, upstream's `getScaleColumnsForVersion`.
pub(super) fn of_scale(kind: &Kind) -> Vec<Column> {
    if !kind.is_custom() {
        let texts = SCALE.into_iter().map(|(text, _)| text).chain([AGE]);
        let columns = texts.filter_map(|text| builtin(None, text));
        return std::iter::once(name()).chain(columns).collect();
    }
    let counts = SCALE.into_iter().filter_map(|(text, description)| {
        let description = description.into();
        Some(Column {
            description,
            ..builtin(None, text)?
        })
    });
    let columns = std::iter::once(name()).chain(counts);
    columns.chain(age_of_custom()).collect()
}

/// The age of an object of a custom kind. Source: upstream's `serveDefaultColumnsIfEmpty`.
fn age_of_custom() -> Option<Column> {
    static DESCRIPTION: LazyLock<Name> =
        LazyLock::new(|| schemas::description_in_metadata("creationTimestamp").into());
    custom(&PrinterColumn {
        name: "Age".into(),
        type_name: "date".into(),
        format: "".into(),
        description: Name::clone(&DESCRIPTION),
        priority: 0,
        json_path: ".metadata.creationTimestamp".into(),
    })
}

fn name() -> Column {
    let source = Source::Member {
        path: "metadata.name",
        missing: "<none>",
    };
    Column {
        name: "Name".into(),
        type_name: "string".into(),
        format: "name".into(),
        description: "Name must be unique within a namespace.".into(),
        priority: 0,
        source,
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread made columns.
    pub(super) static MADE: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

pub(super) fn columns(kind: &Kind, version: &Version) -> Vec<Column> {
    #[cfg(test)]
    MADE.set(MADE.get() + 1);
    let resource = &*kind.resource.resource;
    if kind.is_custom() {
        let mut columns = vec![name()];
        // An invalid path ends the columns, as it does upstream.
        let first = version.columns.iter().take(COLUMNS_MAX);
        columns.extend(first.map_while(custom));
        columns.extend(age_of_custom().filter(|_| version.columns.is_empty()));
        return columns;
    }
    let mut rows = ROWS.lines().filter_map(|row| row.split_once(": "));
    let row = rows.find(|row| row.0 == resource);
    let row = row.map_or(AGE, |(_, row)| row).split(", ");
    let row = row.filter_map(|column| builtin(kind.pod.as_ref(), column));
    if resource == "events" {
        // Events are told apart by what they say; the name comes last.
        return row.collect();
    }
    let source = match resource {
        "storageclasses" => Source::Computed("storage-class"),
        "volumeattributesclasses" => Source::Computed("attributes-class"),
        _ => return std::iter::once(name()).chain(row).collect(),
    };
    let marked = Column { source, ..name() };
    std::iter::once(marked).chain(row).collect()
}

fn custom(column: &PrinterColumn) -> Option<Column> {
    let description = if column.description.is_empty() {
        let path = &column.json_path;
        format!("Custom resource definition column (in JSONPath format): {path}")
    } else {
        column.description.to_string()
    };
    Some(Column {
        name: column.name.to_string(),
        type_name: column.type_name.to_string(),
        format: column.format.to_string(),
        description,
        priority: column.priority,
        source: Source::Path(JsonPath::parse(&column.json_path)?),
    })
}

pub(super) fn builtin(pod: Option<&Name>, text: &'static str) -> Option<Column> {
    let (name, source) = text.split_once('=')?;
    let wide = name.starts_with('+');
    let number = source.starts_with('#');
    Some(Column {
        name: name.trim_start_matches('+').into(),
        type_name: if number { "integer" } else { "string" }.into(),
        format: if name == "Name" || name == "+Name" {
            "name"
        } else {
            ""
        }
        .into(),
        description: String::new(),
        priority: i64::from(wide),
        source: source_of(pod, source)?,
    })
}

fn source_of(pod: Option<&Name>, text: &'static str) -> Option<Source> {
    if let Some(member) = text.strip_prefix('%') {
        let pod = Name::clone(pod?);
        return Some(Source::Containers { pod, member });
    }
    let counted = text.strip_prefix('#');
    let source = counted.unwrap_or(text);
    if let Some(name) = source.strip_prefix('@') {
        return Some(Source::Computed(name));
    }
    if counted.is_some() {
        return Some(Source::Count(source));
    }
    let (path, missing) = source.split_once('?').unwrap_or((source, "<none>"));
    Some(Source::Member { path, missing })
}

#[cfg(test)]
mod tests;
