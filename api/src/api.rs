//! What answers requests: the engine, who is asked about them, and what they share.

use crate::admission::Admission;
use crate::authenticator::Authenticator;
use crate::backend::Backend;
use crate::body::{ApiBody, Bodies};
use crate::documents::Documents;
use crate::list::selectable::SharedFields;
use crate::restricted::Restricted;
use crate::status::Failure;
use crate::table::shared::SharedColumns;
use crate::watch::relay::Relay;
use http::Response;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The most watches that may read the log at one time.
pub(crate) const REPLAYS_MAX: usize = 2;

/// The Kubernetes API over a backend. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) admission: Arc<Admission>,
    /// Tells watches of new revisions.
    pub(crate) relay: Relay,
    /// How many watches may read the log at the same time.
    pub(crate) replays: Arc<Semaphore>,
    /// The columns that watches keep.
    pub(crate) columns: Arc<SharedColumns>,
    /// What field selectors look at in objects.
    pub(crate) fields: SharedFields,
    /// Documents of discovery and OpenAPI that were built.
    pub(crate) documents: Arc<Documents>,
    /// The bounds on request bodies; `None` where the caller has them in memory anyway.
    pub(crate) bodies: Option<Bodies>,
    /// Who is asked about tokens; `None` where nobody logs in with any.
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    /// What the program around this API does not show to everybody.
    pub(crate) restricted: Option<Arc<Restricted>>,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}

impl Api {
    /// An API over this backend that asks admission before each write.
    pub fn new(backend: Arc<dyn Backend>, admission: Arc<Admission>) -> Self {
        let replays = Arc::new(Semaphore::new(REPLAYS_MAX));
        let documents = Documents::of(backend.restored());
        Self {
            backend,
            admission,
            relay: Relay::default(),
            replays,
            columns: Arc::default(),
            fields: SharedFields::default(),
            documents: Arc::new(documents),
            bodies: None,
            authenticator: None,
            restricted: None,
        }
    }

    /// Bounds request bodies, for an API that is served over a network.
    #[must_use]
    pub fn with_bodies(self, bodies: Bodies) -> Self {
        let bodies = Some(bodies);
        Self { bodies, ..self }
    }

    /// Lets token reviews ask about the tokens that clients log in with.
    #[must_use]
    pub fn with_authenticator(self, authenticator: Arc<dyn Authenticator>) -> Self {
        let authenticator = Some(authenticator);
        Self {
            authenticator,
            ..self
        }
    }

    /// Ends every watch, as a server does that is about to end; their clients go on with another one. Source:
    /// upstream's `WatchServer`, which returns once the server is shutting down.
    pub fn end_watches(&self) {
        self.relay.end();
    }

    /// Makes an answer that is complete at once and may be long. Few are made at one time, and all have bounded room
    /// until their clients have read them; 429 if there is none.
    pub(crate) async fn make(
        &self,
        make: impl FnOnce() -> Result<Response<ApiBody>, Failure> + Send + 'static,
    ) -> Result<Response<ApiBody>, Failure> {
        Bodies::made(self.bodies.as_ref(), make).await
    }
}
