//! A request whose path names a resource that exists: what it says, and the state that it is about. Verbs,
//! lists and watches take it; only the handler makes one.

pub(crate) mod origin;

use crate::accept::{Accept, Answer, NotAcceptable};
use crate::api::Api;
use crate::backend::{Seat, StateAt};
use crate::media_type::MediaType;
use crate::params::Params;
use crate::path::Route;
use crate::status::Failure;
use crate::wait;
use hindsight_core::kind::{GroupVersionKind, KindRef, Subresource, Version};
use hindsight_core::object::{Name, ObjectKey};
use hindsight_core::validate::manager_of_agent;
use hindsight_core::{Actor, Command, Form, GroupResource, Intent, Revision, State, Time};
use http::Method;
use origin::Origin;
use std::sync::{Arc, LazyLock};
use tokio::time::Instant;

/// A request that names a resource which exists. It holds nothing of its head that is not named here: it may wait long,
/// for its body or for others.
pub(crate) struct ResourceRequest {
    pub(crate) method: Method,
    /// Nothing where the request is a `GET`.
    pub(crate) origin: Origin,
    /// How the body is written.
    pub(crate) media: MediaType,
    pub(crate) params: Params,
    pub(crate) route: Route,
    pub(crate) kind: KindRef,
    pub(crate) version: Arc<Version>,
    /// The subresource, where the request is not about the whole object.
    pub(crate) subresource: Option<Subresource>,
    /// How stored objects are read in that version.
    pub(crate) form: Form,
    pub(crate) state: Arc<State>,
    pub(crate) actor: Arc<Actor>,
    pub(crate) accept: Accept,
    /// The same for a review.
    pub(crate) accept_of_review: Result<Accept, NotAcceptable>,
    /// Whether the path names a point in time.
    pub(crate) is_past: bool,
    /// Held by a request about the past.
    pub(crate) seat: Option<Seat>,
    pub(crate) now: Time,
    /// How long the body is; zero before it is read.
    pub(crate) body_bytes: usize,
    /// Whether it is a watch if its method is `GET`.
    pub(crate) watches: bool,
    /// When the client stops waiting, if it says so.
    pub(crate) deadline: Option<Instant>,
}

impl ResourceRequest {
    /// When the request arrived; of one about the past, the time of that.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// The state that the request is about.
    pub(crate) fn shown(&self) -> StateAt {
        StateAt {
            state: Arc::clone(&self.state),
            seat: self.seat.clone(),
            lost: None,
        }
    }

    /// Waits for a revision that lies ahead. From then on the request is about the state at that time, and
    /// about what its path names there.
    pub(crate) async fn catch_up(&mut self, api: &Api, wanted: Revision) -> Result<(), Failure> {
        self.move_to(wait::state_at_least(&*api.backend, wanted).await?)
    }

    /// From now on the request is about the newest state.
    pub(crate) fn refresh(&mut self, api: &Api) -> Result<(), Failure> {
        self.move_to(api.backend.state())
    }

    fn move_to(&mut self, state: Arc<State>) -> Result<(), Failure> {
        let named = resolve(&state, &self.route);
        let (kind, version) = named.ok_or_else(Failure::no_such_resource)?;
        self.subresource = self.route.subpath.served(&version)?;
        self.form = Form::of(&state.kinds, &kind, &version.name);
        (self.kind, self.version, self.state) = (kind, version, state);
        Ok(())
    }

    /// Lets go of a state of the past and of the seat that it takes, before another one is waited for: whoever
    /// waited with a seat would keep the next from it.
    pub(crate) fn release_past(&mut self) {
        static NOTHING: LazyLock<Arc<State>> =
            LazyLock::new(|| Arc::new(State::new(crate::builtin_kinds())));
        if self.is_past {
            self.seat = None;
            self.state = Arc::clone(&NOTHING);
        }
    }

    /// The storage key of the named object; the namespace of a create.
    pub(crate) fn key(&self) -> ObjectKey {
        let namespace = self.route.namespace.as_deref().unwrap_or_default();
        let name = self.route.name.as_deref().unwrap_or_default();
        ObjectKey::new(self.kind.stored_under(), namespace, name)
    }

    /// How long the object is as it is now; zero if there is none.
    pub(crate) fn stored_bytes(&self) -> usize {
        let stored = self.state.get(&self.key());
        stored.map_or(0, |stored| stored.body.len())
    }

    /// About how much the request holds of its head.
    pub(crate) fn head_bytes(&self) -> usize {
        let texts = [&self.route.namespace, &self.route.name];
        let texts = texts.into_iter().flatten().map(String::len);
        texts.sum::<usize>() + self.params.held_bytes() + self.origin.held_bytes()
    }

    /// The kind of this endpoint's bodies.
    pub(crate) fn spoken(&self) -> GroupVersionKind {
        self.kind.document_gvk(&self.version.name, self.subresource)
    }

    /// What is answered if all goes well.
    pub(crate) fn answer(&self) -> Answer {
        let method = &self.method;
        if method == Method::GET && self.watches {
            Answer::Events
        } else if self.route.name.is_some() || method == Method::POST {
            Answer::One
        } else {
            Answer::List
        }
    }

    /// Whether the request is about the object's scale alone.
    pub(crate) fn is_scale(&self) -> bool {
        self.subresource == Some(Subresource::Scale)
    }

    /// The command with this intent, as the request's client gives it now.
    pub(crate) fn command(&self, api: &Api, intent: Intent) -> Command {
        let verb = verb(&self.method, self.route.name.is_some());
        let manager = self.manager(&intent, self.origin.agent());
        let origin = self.origin.recorded(verb.unwrap_or_default());
        let actor = Arc::clone(&self.actor);
        let (time, seed) = (api.backend.now(), api.backend.seed());
        Command {
            request: Arc::new(origin),
            manager,
            ..Command::new(actor, time, seed, intent)
        }
    }

    /// The field manager of the request. A deletion writes no owned fields and has none.
    fn manager(&self, intent: &Intent, agent: &str) -> Option<Name> {
        if !matches!(
            intent,
            Intent::Create(_) | Intent::Update(_) | Intent::Patch(_)
        ) {
            return None;
        }
        let named = self.params.text("fieldManager");
        if !named.is_empty() {
            return Some(named.into());
        }
        let program = manager_of_agent(agent);
        Some(if program.is_empty() {
            "unknown".into()
        } else {
            program.into()
        })
    }

    /// The version as commands name it: with its group where another one stores the objects.
    pub(crate) fn version_named(&self) -> Name {
        if self.kind.stored_under() == self.kind.resource {
            return self.version.name.clone();
        }
        self.kind.api_version(&self.version.name).into()
    }
}

/// The kind and the version that the path names, if they have the scope of the path.
pub(crate) fn resolve(state: &State, route: &Route) -> Option<(KindRef, Arc<Version>)> {
    let resource = GroupResource::new(&route.group, &route.resource);
    let kind = state.kinds.by_resource(&resource)?;
    let version = kind.served(&route.version)?;
    let in_none = route.name.is_some() && route.namespace.is_none() && kind.is_namespaced();
    let in_all = route.everywhere && !kind.is_namespaced();
    if in_none || in_all || (route.namespace.is_some() && !kind.is_namespaced()) {
        return None;
    }
    Some((Arc::clone(kind), Arc::clone(version)))
}

/// The verb of a method, as Kubernetes names it, of one object or of all; `None` for other methods.
pub(crate) fn verb(method: &Method, is_of_one: bool) -> Option<&'static str> {
    Some(match (method, is_of_one) {
        (&Method::GET, true) => "get",
        (&Method::GET, false) => "list",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, true) => "delete",
        (&Method::DELETE, false) => "deletecollection",
        _ => return None,
    })
}
