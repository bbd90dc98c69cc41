//! What only the HTTP surface needs of a control plane.

use super::{ControlPlane, empty_state};
use crate::Config;
use crate::backfill::Backfill;
use crate::past::Pasts;
use crate::published::Publisher;
use crate::unpoisoned::unpoisoned;
use crate::webhooks::Network;
use hindsight_api::Admission;
use hindsight_core::{State, Time};
use hindsight_log::{Error, Reader};
use std::path::PathBuf;
use std::sync::Arc;

/// The earlier states, what watches missed, and who is asked before writes.
#[derive(Debug)]
pub(super) struct HttpParts {
    pub(super) pasts: Pasts,
    backfill: Backfill,
    admission: Arc<Admission>,
}

impl HttpParts {
    pub(super) fn new(config: &Config, publisher: &Publisher, reader: &Reader) -> Self {
        let window = publisher.window_front();
        Self {
            pasts: Pasts::new(publisher.kept()),
            backfill: Backfill::new(window, reader.clone(), empty_state()),
            admission: Arc::new(admission(config)),
        }
    }
}

fn admission(config: &Config) -> Admission {
    let mut admission = Admission {
        owner_reference_permissions: config.owner_reference_permissions,
        webhooks: Arc::new(Network::default()),
        ..Admission::default()
    };
    if let Some(authorizer) = &config.authorizer {
        admission.authorizer = Arc::clone(authorizer);
    }
    admission
}

impl ControlPlane {
    /// The newest durable state, if no commit or restore is later than this time. Clocks may step back.
    pub(crate) fn state_if_no_later(&self, time: Time) -> Option<Arc<State>> {
        let published = self.shared.published.load();
        (published.latest <= time).then(|| Arc::clone(&published.state))
    }

    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.shared.http.admission
    }

    pub(crate) fn pasts(&self) -> &Pasts {
        &self.shared.http.pasts
    }

    pub(crate) fn backfill(&self) -> &Backfill {
        &self.shared.http.backfill
    }

    /// The data directory, by a path without links; `None` in memory, and once the plane is closed.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        let lock = unpoisoned(self.shared.lock.lock());
        lock.as_ref().map(|lock| lock.directory().to_owned())
    }

    /// Writes the address of the server into the lock, where other processes find it.
    pub(crate) fn describe_holder(&self, address: &str) -> Result<(), Error> {
        let mut lock = unpoisoned(self.shared.lock.lock());
        lock.as_mut()
            .map_or(Ok(()), |lock| lock.describe(Some(address)))
    }
}
