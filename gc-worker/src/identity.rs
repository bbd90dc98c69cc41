//! The identities by which steps are carried out: those of upstream's controllers.

use crate::steps::{Step, cause_of_mark, target};
use hindsight_core::command::{Basis, Collect, Release};
use hindsight_core::object::ServerFinalizer;
use hindsight_core::{Actor, Cause, Intent, Object};
use std::sync::{Arc, LazyLock};

/// One of the identities of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// `generic-garbage-collector`.
    GarbageCollector,
    /// `namespace-controller`.
    NamespaceController,
    /// The API server itself, of which the controllers of definitions and the end of events are a part
    /// upstream.
    ApiServer,
    /// `ttl-after-finished-controller`.
    TtlController,
}

impl Identity {
    /// All identities.
    pub const ALL: [Self; 4] = [
        Self::GarbageCollector,
        Self::NamespaceController,
        Self::ApiServer,
        Self::TtlController,
    ];

    /// Its user name, as in the log. The server itself also creates the first namespaces of a log.
    pub const fn user(self) -> &'static str {
        match self {
            Self::GarbageCollector => "system:serviceaccount:kube-system:generic-garbage-collector",
            Self::NamespaceController => "system:serviceaccount:kube-system:namespace-controller",
            Self::ApiServer => "system:apiserver",
            Self::TtlController => {
                "system:serviceaccount:kube-system:ttl-after-finished-controller"
            }
        }
    }

    /// The identity with this user name, as in [`hindsight_core::Commit::actor`]. Nothing keeps another
    /// client from using the same name.
    pub fn of(actor: &Actor) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|identity| *identity.user() == *actor.user)
    }

    /// Its actor: user and groups. Always the same one: the log looks no further for the origin of commits
    /// that follow each other.
    pub fn actor(self) -> Arc<Actor> {
        static ACTORS: LazyLock<[Arc<Actor>; 4]> =
            LazyLock::new(|| Identity::ALL.map(|identity| Arc::new(identity.new_actor())));
        let [garbage, namespaces, server, ttl] = &*ACTORS;
        Arc::clone(match self {
            Self::GarbageCollector => garbage,
            Self::NamespaceController => namespaces,
            Self::ApiServer => server,
            Self::TtlController => ttl,
        })
    }

    fn new_actor(self) -> Actor {
        let group = match self {
            Self::ApiServer => "system:masters",
            Self::GarbageCollector | Self::NamespaceController | Self::TtlController => {
                "system:serviceaccounts"
            }
        };
        Actor {
            groups: vec![group.into(), "system:authenticated".into()],
            ..Actor::new(self.user())
        }
    }

    /// The field manager of its writes: the program of which it is a part upstream.
    pub const fn field_manager(self) -> &'static str {
        match self {
            Self::ApiServer => "kube-apiserver",
            Self::GarbageCollector | Self::NamespaceController | Self::TtlController => {
                "kube-controller-manager"
            }
        }
    }

    /// A step that is carried out by it.
    pub(crate) const fn step(self, intent: Intent, cause: Cause) -> Step {
        Step {
            by: self,
            intent,
            cause,
        }
    }

    /// The release of an owner in deletion from one of its finalizers.
    pub(crate) fn release(self, owner: &Object, finalizer: ServerFinalizer, basis: Basis) -> Step {
        let intent = Intent::Collect(Collect::Release(Release {
            owner: target(&owner.key, &owner.meta.uid),
            finalizer,
            basis,
        }));
        self.step(intent, cause_of_mark(owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hindsight_core::command::{DropOwners, DropReason, Target};
    use hindsight_core::{GroupResource, ObjectKey, Revision, Time};

    #[test]
    fn each_identity_has_a_name_of_its_own_and_is_known_by_it() {
        for (identity, name) in [
            (Identity::GarbageCollector, "generic-garbage-collector"),
            (Identity::NamespaceController, "namespace-controller"),
            (Identity::ApiServer, "system:apiserver"),
            (Identity::TtlController, "ttl-after-finished-controller"),
        ] {
            let actor = identity.actor();
            assert!(actor.user.ends_with(name), "{actor:?}");
            assert_eq!(Identity::of(&actor), Some(identity));
        }
        assert_eq!(Identity::of(&Actor::new("admin")), None);
    }

    #[test]
    fn the_steps_of_one_identity_share_their_actor_and_their_request() {
        let command = || {
            let pod = ObjectKey::new(GroupResource::new("", "pods"), "a", "b");
            let intent = Intent::Collect(Collect::DropOwners(DropOwners {
                dependent: Target::any(pod),
                owners: Vec::new(),
                reason: DropReason::SolidOwnerRemains,
                basis: Basis::at(Revision(1)),
            }));
            let step = Identity::GarbageCollector.step(intent, Cause::Request);
            step.command(Time(0), [0; 16])
        };
        let (one, other) = (command(), command());
        assert!(Arc::ptr_eq(&one.actor, &other.actor));
        assert!(Arc::ptr_eq(&one.request, &other.request));
    }
}
