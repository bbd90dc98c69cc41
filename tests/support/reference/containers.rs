//! Namespaces and definitions of the naive world: what they contain is removed before their owners
//! are considered. Written from the rules, not from the collectors.

use super::{Kind, Policy, Thing, World};

/// The finalizer with which a definition waits for its instances to go.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Why an object cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its kind is not served.
    NoKind,
    /// Its definition is being deleted.
    KindGoes,
    /// Its namespace does not exist.
    NoNamespace,
    /// Its namespace is being deleted.
    NamespaceGoes,
    /// The name is taken.
    Taken,
}

impl Refusal {
    /// A part of the message that a client gets.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoKind => "no kind",
            Self::KindGoes => "create not allowed",
            Self::NoNamespace => "not found",
            Self::NamespaceGoes => "is being terminated",
            Self::Taken => "already exists",
        }
    }
}

impl Kind {
    /// Whether its objects live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        matches!(
            self,
            Self::ConfigMap | Self::Pod | Self::Widget | Self::Gizmo
        )
    }

    /// Whether it contains other objects.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::Namespace | Self::Definition)
    }

    /// The definition that makes it served, if it needs one.
    pub const fn definition(self) -> Option<&'static str> {
        match self {
            Self::Widget => Some("widgets.example.com"),
            Self::Gadget => Some("gadgets.example.com"),
            Self::Gizmo => Some("gizmos.example.com"),
            _ => None,
        }
    }
}

/// Whether a definition has the short name that several of them want. Only one can have it, and a kind is not
/// served before its definition has all its names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Short {
    /// It wants none.
    #[default]
    Unwanted,
    /// It waits until the name is free.
    Wanted,
    /// It has the name.
    Held,
}

impl World {
    /// Whether references to this kind can be looked up.
    pub fn is_served(&self, kind: Kind) -> bool {
        kind != Kind::Unknown
            && kind
                .definition()
                .is_none_or(|name| self.defined(name).is_some())
    }

    /// The definition with this name, if its kind is served.
    fn defined(&self, name: &str) -> Option<&Thing> {
        let definition = self.find(Kind::Definition, "", name);
        definition.filter(|one| one.short != Short::Wanted)
    }

    /// Gives the short name to the first definition that waits for it, if it is free.
    pub(super) fn give_name(&mut self) {
        if self.things.iter().any(|one| one.short == Short::Held) {
            return;
        }
        let waits = self
            .things
            .iter_mut()
            .filter(|one| one.short == Short::Wanted);
        if let Some(first) = waits.min_by(|one, other| one.name.cmp(&other.name)) {
            first.short = Short::Held;
        }
    }

    pub(super) fn remove_if_free(&mut self, uid: &str) {
        self.things.retain(|one| one.uid != uid || !one.is_free());
        self.give_name();
    }

    /// The containers that an object is removed with: its namespace, and the definition of its kind.
    pub(super) fn containers(&self, thing: &Thing) -> impl Iterator<Item = &Thing> {
        let namespace = self.find(Kind::Namespace, "", &thing.namespace);
        let definition = thing.kind.definition();
        namespace
            .into_iter()
            .chain(definition.and_then(|name| self.find(Kind::Definition, "", name)))
    }

    /// Whether such an object may be created, apart from its name.
    pub(super) fn admits(&self, thing: &Thing) -> Result<(), Refusal> {
        if let Some(name) = thing.kind.definition() {
            let definition = self.defined(name);
            if definition.ok_or(Refusal::NoKind)?.deleting {
                return Err(Refusal::KindGoes);
            }
        }
        if thing.kind.is_namespaced() {
            let namespace = self.find(Kind::Namespace, "", &thing.namespace);
            if namespace.ok_or(Refusal::NoNamespace)?.deleting {
                return Err(Refusal::NamespaceGoes);
            }
        }
        Ok(())
    }

    /// The first delete of a namespace only marks it; further deletes do nothing until its contents
    /// are gone.
    pub(super) fn begin_namespace(thing: &mut Thing, policy: Option<Policy>) {
        if thing.deleting {
            return;
        }
        if let Some(policy) = policy {
            thing.set_policy(policy);
        }
        thing.deleting = true;
    }

    /// The first delete of a definition, which ignores the policy.
    pub(super) fn begin_definition(thing: &mut Thing) {
        if !thing.holds(CLEANUP) {
            thing.finalizers.push(CLEANUP.into());
        }
        thing.deleting = true;
    }

    /// One step of a container that is being deleted; false if there is none left to take.
    pub(super) fn empty(&mut self) -> bool {
        let mut going = self.things.iter().filter(|one| one.deleting);
        let next = going.find_map(|one| match one.kind {
            Kind::Namespace => self.next_in_namespace(one),
            Kind::Definition => self.next_instance(one),
            _ => None,
        });
        match next {
            Some(Next::Delete(uid, policy)) => self.delete(&uid, policy),
            Some(Next::Finalize(uid)) => {
                if let Some(thing) = self.get_mut(&uid) {
                    thing.token = false;
                }
                self.remove_if_free(&uid);
            }
            None => return false,
        }
        true
    }

    /// Pods are deleted first, then everything; objects that wait for their dependents or orphan them
    /// stop doing so.
    fn next_in_namespace(&self, namespace: &Thing) -> Option<Next> {
        let inside = |one: &&Thing| one.namespace == namespace.name;
        let mut contents = self.things.iter().filter(inside).peekable();
        if contents.peek().is_none() {
            return namespace
                .token
                .then(|| Next::Finalize(namespace.uid.clone()));
        }
        let contents: Vec<&Thing> = contents.collect();
        let pods = contents.iter().any(|one| one.kind == Kind::Pod);
        let turn = contents
            .iter()
            .filter(|one| !pods || one.kind == Kind::Pod)
            .find(|one| !one.deleting || one.is_waiting() || one.is_orphaning())?;
        Some(Next::Delete(turn.uid.clone(), Some(Policy::Background)))
    }

    /// Instances are deleted as their own finalizers say, but none of them waits for its dependents,
    /// since these may wait for the definition.
    fn next_instance(&self, definition: &Thing) -> Option<Next> {
        let name = Some(definition.name.as_str());
        let instances = self
            .things
            .iter()
            .filter(|one| one.kind.definition() == name);
        let next = |one: &Thing| {
            let policy = match (one.deleting, one.is_waiting()) {
                (false, _) => None,
                (true, true) => Some(Policy::Background),
                (true, false) => return None,
            };
            Some(Next::Delete(one.uid.clone(), policy))
        };
        instances.map(next).find_map(|next| next)
    }

    /// Lets a definition go when nothing else can be done, one at a time by name, because then its
    /// kind is no longer served.
    pub(super) fn undefine(&mut self) -> bool {
        let definitions = self
            .things
            .iter()
            .filter(|one| one.kind == Kind::Definition && one.deleting);
        let mut names: Vec<(String, String)> = definitions
            .map(|one| (one.name.clone(), one.uid.clone()))
            .collect();
        names.sort();
        names.iter().any(|(name, uid)| {
            self.release(uid) || self.break_deadlock(uid) || self.clean_up(name, uid)
        })
    }

    fn clean_up(&mut self, name: &str, uid: &str) -> bool {
        let holds = |one: &Thing| one.kind.definition() == Some(name);
        let held = self.get(uid).is_some_and(|one| one.holds(CLEANUP));
        if !held || self.things.iter().any(holds) {
            return false;
        }
        self.drop_finalizer(uid, CLEANUP);
        self.remove_if_free(uid);
        true
    }
}

enum Next {
    Delete(String, Option<Policy>),
    Finalize(String),
}
