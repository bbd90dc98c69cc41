//! Which columns a kind has: a table for the common built-in ones, the definition's own for custom
//! ones. Source: upstream's `pkg/printers/internalversion`.

use super::jsonpath::JsonPath;
use hindsight_core::kind::{Kind, PrinterColumn, Version};

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
    /// A row of the table below.
    Named(&'static str),
    /// The path of a custom kind's column.
    Path(JsonPath),
}

/// `Heading=source`, a `+` before it where only a wide table shows it. A source is a path, or one
/// of the names that `cells` computes.
const ROWS: &[(&str, &str)] = &[
    (
        "pods",
        "Ready=@ready,Status=@pod-status,Restarts=@restarts,Age=@age,+IP=status.podIP,+Node=spec.nodeName",
    ),
    (
        "deployments",
        "Ready=@replicas,Up-to-date=#status.updatedReplicas,Available=#status.availableReplicas,Age=@age",
    ),
    (
        "replicasets",
        "Desired=#spec.replicas,Current=#status.replicas,Ready=#status.readyReplicas,Age=@age",
    ),
    (
        "replicationcontrollers",
        "Desired=#spec.replicas,Current=#status.replicas,Ready=#status.readyReplicas,Age=@age",
    ),
    ("statefulsets", "Ready=@replicas,Age=@age"),
    (
        "daemonsets",
        "Desired=#status.desiredNumberScheduled,Current=#status.currentNumberScheduled,Ready=#status.numberReady,Up-to-date=#status.updatedNumberScheduled,Available=#status.numberAvailable,Age=@age",
    ),
    (
        "jobs",
        "Status=@job-status,Completions=@completions,Age=@age",
    ),
    (
        "cronjobs",
        "Schedule=spec.schedule,Timezone=spec.timeZone,Suspend=spec.suspend,Age=@age",
    ),
    (
        "services",
        "Type=spec.type,Cluster-IP=spec.clusterIP,Age=@age",
    ),
    ("configmaps", "Data=@data,Age=@age"),
    ("secrets", "Type=type,Data=@data,Age=@age"),
    ("namespaces", "Status=status.phase,Age=@age"),
    ("nodes", "Version=status.nodeInfo.kubeletVersion,Age=@age"),
    (
        "persistentvolumes",
        "Status=status.phase,StorageClass=spec.storageClassName,Age=@age",
    ),
    (
        "persistentvolumeclaims",
        "Status=status.phase,Volume=spec.volumeName,StorageClass=spec.storageClassName,Age=@age",
    ),
    (
        "storageclasses",
        "Provisioner=provisioner,ReclaimPolicy=reclaimPolicy,VolumeBindingMode=volumeBindingMode,Age=@age",
    ),
    (
        "customresourcedefinitions",
        "Created At=metadata.creationTimestamp",
    ),
    ("clusterroles", "Created At=metadata.creationTimestamp"),
    ("roles", "Created At=metadata.creationTimestamp"),
    ("leases", "Holder=spec.holderIdentity,Age=@age"),
    (
        "events",
        "Type=type,Reason=reason,Object=involvedObject.name,Message=message",
    ),
    (
        "priorityclasses",
        "Value=#value,Global-Default=globalDefault,Age=@age",
    ),
    (
        "poddisruptionbudgets",
        "Min Available=spec.minAvailable,Max Unavailable=spec.maxUnavailable,Allowed Disruptions=#status.disruptionsAllowed,Age=@age",
    ),
    (
        "horizontalpodautoscalers",
        "Reference=spec.scaleTargetRef.name,Minpods=#spec.minReplicas,Maxpods=#spec.maxReplicas,Replicas=#status.currentReplicas,Age=@age",
    ),
    ("runtimeclasses", "Handler=handler,Age=@age"),
];

pub(super) fn columns(kind: &Kind, version: &Version) -> Vec<Column> {
    let mut columns = vec![Column {
        name: "Name".into(),
        type_name: "string".into(),
        format: "name".into(),
        description: "Name must be unique within a namespace.".into(),
        priority: 0,
        source: Source::Named("metadata.name"),
    }];
    if kind.is_custom() && !version.columns.is_empty() {
        // A path that is none ends the table, as it does upstream.
        columns.extend(version.columns.iter().map_while(custom));
        return columns;
    }
    let row = ROWS
        .iter()
        .find(|(resource, _)| *resource == &*kind.resource.resource);
    let row = row
        .filter(|_| !kind.is_custom())
        .map_or("Age=@age", |(_, row)| row);
    columns.extend(row.split(',').filter_map(builtin));
    columns
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

fn builtin(text: &'static str) -> Option<Column> {
    let (name, source) = text.split_once('=')?;
    let wide = name.starts_with('+');
    let number = source.starts_with('#');
    Some(Column {
        name: name.trim_start_matches('+').into(),
        type_name: if number { "integer" } else { "string" }.into(),
        format: String::new(),
        description: String::new(),
        priority: i64::from(wide),
        source: Source::Named(source),
    })
}
