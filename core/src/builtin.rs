//! The built-in kinds as one declarative table: what Kubernetes 1.36 serves as generally available. The
//! flags follow the strategies of upstream's `pkg/registry`.

mod table;
#[cfg(test)]
mod tests;

use crate::command::Propagation;
use crate::kind::{
    Generation, GroupResource, Kind, NameRule, Origin, ScalePaths, ScaleSelector, Scope, Shape,
    Strategy, Subresource, Version,
};
use crate::object::Name;
use std::sync::Arc;
use table::GROUPS;

/// One group and version with its kinds, one per line:
/// `plural Kind short,names categories subresources flags`, with `-` for none; then, for kinds with a pod
/// specification, its path.
///
/// Flags: `c` cluster-scoped; `g` generation counts changes of the spec; `e` changes of the spec and of
/// labels; `a` of the spec and of annotations; `1` generation stays 1; `o` a completed deletion answers with
/// the object; `p` PUT creates; `r` updates need a `resourceVersion`; `l` names are labels; `s` names are any
/// path segment; `i` names are IP addresses; `f` any finalizer; `O` orphans by default; `G` graceful deletion;
/// `R` a review that is never stored; `n` no deletion of collections; `k` a new one keeps its status; `v` its
/// pods also mount volumes that are claimed for them.
/// Shapes: `N` namespace, `D` definition, `P` pod, `J` job, `T` daemon set, `V` volume, `M` claim, `A` API service, `S` service, `C` certificate signing request.
struct Group {
    group: &'static str,
    version: &'static str,
    kinds: &'static str,
}

/// Every built-in kind, in the order in which clients prefer the groups.
pub fn kinds() -> Vec<Kind> {
    GROUPS
        .iter()
        .flat_map(|group| group.kinds.lines().filter_map(|line| kind(group, line)))
        .collect()
}

/// The groups in the order in which clients prefer them.
pub fn groups() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.group)
}

fn kind(group: &Group, line: &str) -> Option<Kind> {
    let mut words = line.split_whitespace();
    let (plural, name) = (words.next()?, words.next()?);
    let (short, categories) = (words.next()?, words.next()?);
    let (subresources, flags) = (words.next()?, words.next()?);
    let subresources = list(subresources).map(Subresource::named);
    let subresources = subresources.collect::<Option<Vec<_>>>()?;
    let has = |flag: char| flags.contains(flag);
    let resource = GroupResource::new(group.group, plural);
    Some(Kind {
        strategy: strategy(&resource, flags),
        resource,
        kind: name.into(),
        list_kind: format!("{name}List").into(),
        singular: name.to_lowercase().into(),
        short_names: list(short).map(Name::from).collect(),
        categories: list(categories).map(Name::from).collect(),
        scope: if has('c') {
            Scope::Cluster
        } else {
            Scope::Namespaced
        },
        pod: words.next().map(Name::from),
        versions: versions(group, plural, &subresources),
        origin: Origin::Builtin,
    })
}

/// Group, resource and version of kinds that are served in another version than the stored one.
const ALSO_SERVED: &[(&str, &str, &str)] = &[("autoscaling", "horizontalpodautoscalers", "v1")];

/// Group, resource and version of deprecated kinds, with the warning that their requests get. Source:
/// upstream's `APILifecycleDeprecated` of the kinds that are served here, and `deprecation.WarningMessage`.
const DEPRECATED: &[(&str, &str, &str, &str)] = &[(
    "",
    "endpoints",
    "v1",
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)];

fn deprecation_warning(group: &str, plural: &str, version: &str) -> Option<Name> {
    let mut rows = DEPRECATED.iter();
    let row = rows.find(|row| (row.0, row.1, row.2) == (group, plural, version));
    row.map(|(.., warning)| Name::from(*warning))
}

fn versions(group: &Group, plural: &str, subresources: &[Subresource]) -> Vec<Arc<Version>> {
    let version = |name: &str, storage: bool| Version {
        name: name.into(),
        served: true,
        storage,
        subresources: subresources.to_vec(),
        scale: subresources.contains(&Subresource::Scale).then(scale_paths),
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        deprecation_warning: deprecation_warning(group.group, plural, name),
    };
    let also = ALSO_SERVED
        .iter()
        .filter(|(of, resource, _)| (*of, *resource) == (group.group, plural));
    std::iter::once(version(group.version, true))
        .chain(also.map(|(_, _, name)| version(name, false)))
        .map(Arc::new)
        .collect()
}

/// The shapes by their flags.
const SHAPES: [(char, Shape); 10] = [
    ('N', Shape::Namespace),
    ('D', Shape::Definition),
    ('P', Shape::Pod),
    ('J', Shape::Job),
    ('T', Shape::DaemonSet),
    ('V', Shape::Volume),
    ('M', Shape::Claim),
    ('A', Shape::ApiService),
    ('S', Shape::Service),
    ('C', Shape::CertificateRequest),
];

fn strategy(resource: &GroupResource, flags: &str) -> Strategy {
    let has = |flag: char| flags.contains(flag);
    let names = match () {
        () if has('l') => NameRule::Label,
        () if has('s') => NameRule::PathSegment,
        () if has('i') => NameRule::Address,
        () => NameRule::Subdomain,
    };
    let mut shapes = SHAPES.iter().filter(|(flag, _)| has(*flag));
    let shape = shapes.next().map_or(Shape::Plain, |(_, shape)| *shape);
    let generation = match () {
        () if has('g') => Generation::Spec,
        () if has('e') => Generation::SpecAndLabels,
        () if has('a') => Generation::SpecAndAnnotations,
        () if has('1') => Generation::Still,
        () => Generation::Uncounted,
    };
    let default_propagation = if has('O') {
        Propagation::Orphan
    } else {
        Propagation::Background
    };
    Strategy {
        shape,
        collected: !resource.is_event(),
        default_propagation,
        graceful: has('G'),
        returns_object: has('o'),
        unconditional_update: !has('r'),
        create_on_update: has('p'),
        names,
        generation,
        strict_finalizers: !has('f'),
        collection_deletes: !has('n'),
        review: has('R'),
        keeps_status: has('k'),
        claims_volumes: has('v'),
    }
}

fn scale_paths() -> ScalePaths {
    ScalePaths {
        wanted: ".spec.replicas".into(),
        observed: ".status.replicas".into(),
        selector: ScaleSelector::Spec,
    }
}

fn list(word: &str) -> impl Iterator<Item = &str> {
    word.split(',').filter(|part| *part != "-")
}
