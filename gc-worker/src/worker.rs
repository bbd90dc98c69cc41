//! Who carries steps out: the identities of upstream's controllers.

use crate::Step;
use hindsight_core::{Actor, Command, Time};
use std::sync::Arc;

/// Which of the server's own identities a step is carried out as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worker {
    /// `generic-garbage-collector`.
    GarbageCollector,
    /// `namespace-controller`.
    NamespaceController,
    /// `customresourcedefinition-controller`, upstream part of the API server.
    DefinitionController,
    /// `ttl-after-finished-controller`.
    TtlController,
}

impl Worker {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::GarbageCollector,
        Self::NamespaceController,
        Self::DefinitionController,
        Self::TtlController,
    ];

    /// Its user, as the log names it. That of the definition controller is the server itself, who also makes the
    /// first namespaces of a log.
    pub const fn user(self) -> &'static str {
        match self {
            Self::GarbageCollector => "system:serviceaccount:kube-system:generic-garbage-collector",
            Self::NamespaceController => "system:serviceaccount:kube-system:namespace-controller",
            Self::DefinitionController => "system:apiserver",
            Self::TtlController => {
                "system:serviceaccount:kube-system:ttl-after-finished-controller"
            }
        }
    }

    /// The worker with this user, as in [`hindsight_core::Commit::actor`]. Nothing keeps another program from
    /// calling itself so.
    pub fn of(actor: &Actor) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|worker| *worker.user() == *actor.user)
    }

    /// Its identity.
    pub fn actor(self) -> Actor {
        let group = match self {
            Self::DefinitionController => "system:masters",
            Self::GarbageCollector | Self::NamespaceController | Self::TtlController => {
                "system:serviceaccounts"
            }
        };
        Actor {
            groups: vec![group.into(), "system:authenticated".into()],
            ..Actor::new(self.user())
        }
    }

    /// Whose the fields are that it writes: that of the program which it is part of upstream.
    pub const fn field_manager(self) -> &'static str {
        match self {
            Self::DefinitionController => "kube-apiserver",
            Self::GarbageCollector | Self::NamespaceController | Self::TtlController => {
                "kube-controller-manager"
            }
        }
    }

    /// A step of it as a command.
    pub fn command(self, step: Step, time: Time, seed: [u8; 16]) -> Command {
        Command {
            cause: step.cause,
            manager: Some(self.field_manager().into()),
            ..Command::new(Arc::new(self.actor()), time, seed, step.intent)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_has_a_name_of_its_own_and_is_known_by_it() {
        for (worker, name) in [
            (Worker::GarbageCollector, "generic-garbage-collector"),
            (Worker::NamespaceController, "namespace-controller"),
            (Worker::DefinitionController, "system:apiserver"),
            (Worker::TtlController, "ttl-after-finished-controller"),
        ] {
            let actor = worker.actor();
            assert!(actor.user.ends_with(name), "{actor:?}");
            assert_eq!(Worker::of(&actor), Some(worker));
        }
        assert_eq!(Worker::of(&Actor::new("admin")), None);
    }
}
