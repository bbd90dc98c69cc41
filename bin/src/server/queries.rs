//! `/hindsight/v1/...`: the questions that only this server can answer, asked by its own command line and by
//! anybody who may read.

mod parameters;

use crate::ControlPlane;
use crate::answer::{PATHS, StateAnswer};
use crate::backend::as_of_error;
use crate::history::LogHistory;
use crate::inspect::{self, QueryError, Selection, World};
use hindsight_api::{ApiBody, Backend, Bodies, Failure, StateAt};
use hindsight_core::State;
use http::{Response, Uri, header};
pub(super) use parameters::refuse_any;
use parameters::{Asked, Question};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How many questions are answered at the same time.
const WALKS_MAX: usize = 4;
/// How long a question waits for its turn before the client is told to try again.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// Names what may be asked; `kind` and `owner` are for the command line alone.
const NO_QUESTION: &str =
    "no such question; ask for log, why, plan, state or backup, as docs/time-travel.md shows";

/// The paths of all questions.
pub(super) fn paths() -> impl Iterator<Item = String> {
    let questions = Question::ALL.into_iter();
    questions.map(|question| format!("{PATHS}{}", question.name()))
}

/// What bounds questions.
pub(super) struct Bounds {
    /// Each question may read the whole log.
    seats: Arc<Semaphore>,
    /// Where answers find room until they are read.
    bodies: Bodies,
}

impl Bounds {
    pub(super) fn new(bodies: Bodies) -> Self {
        let seats = Arc::new(Semaphore::new(WALKS_MAX));
        Self { seats, bodies }
    }
}

pub(super) async fn answer(plane: &ControlPlane, bounds: &Bounds, uri: &Uri) -> Response<ApiBody> {
    let answer = answered(plane, bounds, uri).await;
    answer.unwrap_or_else(|failure| failure.respond())
}

async fn answered(
    plane: &ControlPlane,
    bounds: &Bounds,
    uri: &Uri,
) -> Result<Response<ApiBody>, Failure> {
    let question = uri.path().strip_prefix(PATHS).and_then(Question::named);
    let question = question.ok_or_else(|| Failure::not_found(NO_QUESTION))?;
    let asked = Asked::read(question, uri.query().unwrap_or_default());
    let asked = asked.map_err(Failure::bad_request)?;
    let plane = plane.clone();
    let past = match asked.point() {
        Some(point) => Backend::as_of(&plane, point)
            .await
            .map_err(Failure::of_past)?,
        None => StateAt::in_memory(plane.state()),
    };
    let seat = Arc::clone(&bounds.seats).acquire_owned();
    let Ok(Ok(walk)) = timeout(WAIT_MAX, seat).await else {
        let message = "too many others are reading the log; try again in a second";
        return Err(Failure::too_many(message));
    };
    let lost = past.lost;
    // The work goes on if the client has gone, and keeps its seat until it is done.
    let work = move || {
        let document = ask(&plane, &past.state, &asked);
        drop(past);
        (document.map(|document| document.to_string()), walk)
    };
    let Ok((document, _walk)) = tokio::task::spawn_blocking(work).await else {
        return Err(Failure::internal("the answer failed".into()));
    };
    let mut answer = respond(document.map_err(failure)?);
    if let Some(lost) = lost {
        lost.warn(&mut answer);
    }
    bounds.bodies.counted(answer).await
}

fn failure(error: QueryError) -> Failure {
    match error {
        QueryError::Rejected(rejection) => (*rejection).into(),
        QueryError::UnknownKind(_) | QueryError::Refused(_) => {
            Failure::bad_request(error.to_string())
        }
        QueryError::Log(error) => Failure::of_past(as_of_error(error)),
    }
}

/// The log, of which the control plane knows the last restore.
fn history(plane: &ControlPlane) -> LogHistory<'_> {
    plane.history().last_restored(plane.restored())
}

fn ask(plane: &ControlPlane, state: &State, asked: &Asked) -> Result<Value, QueryError> {
    Ok(match asked {
        Asked::Log { filter, from } => {
            let history = history(plane);
            let selection = Selection::of(&history, filter, state)?;
            json!(inspect::page(&history, &selection, *from)?)
        }
        Asked::Why(object) => json!(inspect::why(&history(plane), state, object)?),
        Asked::Plan {
            object,
            propagation,
            point,
        } => {
            let now = if point.is_some() {
                inspect::clock_at(plane.reader(), state.revision)?
            } else {
                plane.now()
            };
            let reader = plane.reader();
            let world = World { reader, state, now };
            let plan = json!(inspect::plan(world, object, *propagation)?);
            inspect::refuse_dropped(reader, state.revision)?;
            plan
        }
        Asked::State { .. } => json!(StateAnswer::of(state)),
        Asked::Kind { kind, .. } => json!(inspect::served(state, kind)?),
        Asked::Owner { owner, .. } => json!(inspect::find_owner(state, owner)),
    })
}

fn respond(document: String) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(document));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plane;
    use hindsight_api::AsOfError;
    use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
    use hindsight_core::kind::Subresource;
    use hindsight_core::{
        Actor, Command, FutureRevision, GroupResource, Intent, ObjectKey, Pruned, Rejection,
        Revision, Time,
    };
    use hindsight_log::Error;
    use http::StatusCode;
    use http_body_util::BodyExt;

    fn bounds() -> Bounds {
        Bounds::new(Bodies::bounded(0, Duration::MAX))
    }

    #[tokio::test(start_paused = true)]
    async fn one_walk_of_the_log_too_many_waits_and_gets_429() {
        let (plane, bounds) = (plane(), bounds());
        let uri = Uri::from_static("/hindsight/v1/log");
        let asked = || async { answer(&plane, &bounds, &uri).await.status() };
        let three = bounds.seats.acquire_many(3).await.expect("free");
        assert_eq!(asked().await, StatusCode::OK);
        let fourth = bounds.seats.acquire().await.expect("free");
        assert_eq!(asked().await, StatusCode::TOO_MANY_REQUESTS);
        drop((three, fourth));
        assert_eq!(asked().await, StatusCode::OK);
    }

    #[tokio::test]
    async fn an_unknown_path_lists_the_endpoints() {
        let (plane, bounds) = (plane(), bounds());
        let ask = async |question: &str| {
            let uri = format!("{PATHS}{question}").parse().expect("a path");
            let answer = answer(&plane, &bounds, &uri).await;
            let code = answer.status();
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            (code, String::from_utf8_lossy(&body).into_owned())
        };
        for question in [
            "",
            "reasons",
            "reasons?asOf=99999",
            "reasons?since=x",
            "log/why",
        ] {
            let (code, said) = ask(question).await;
            assert_eq!(code, StatusCode::NOT_FOUND);
            assert!(
                said.contains("ask for log, why, plan, state or backup"),
                "{said}"
            );
        }
        for question in [
            "log",
            "why?kind=namespace&name=default",
            "plan?kind=namespace&name=kube-node-lease",
            "state",
        ] {
            assert_eq!(ask(question).await.0, StatusCode::OK, "{question}");
        }
    }

    /// A job that was finished long ago is due by now, and was not then.
    #[tokio::test]
    async fn a_plan_of_the_past_is_made_at_the_time_that_it_was() {
        let plane = plane();
        let pod = json!({"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}});
        let job = json!({"metadata": {"name": "j"},
            "spec": {"ttlSecondsAfterFinished": 100, "template": pod}});
        let over = json!({"status": {"conditions": [{"type": "Failed", "status": "True",
            "lastTransitionTime": "1970-01-01T00:00:10Z"}]}});
        let key = |group: &str, plural: &str, name: &str| {
            ObjectKey::new(GroupResource::new(group, plural), "default", name)
        };
        let create = |key, object| {
            Intent::Create(Create {
                key,
                version: "v1".into(),
                object,
                validation: FieldValidation::Ignore,
            })
        };
        let finish = Intent::Patch(PatchObject {
            key: key("batch", "jobs", "j"),
            version: "v1".into(),
            subresource: Some(Subresource::Status),
            patch: Patch::Merge(over),
            validation: FieldValidation::Ignore,
        });
        let map = create(
            key("", "configmaps", ""),
            json!({"metadata": {"name": "a"}}),
        );
        for intent in [create(key("batch", "jobs", ""), job), finish, map] {
            let then = Time::parse("1970-01-01T00:00:20Z").expect("a time");
            let command = Command::new(Arc::new(Actor::new("t")), then, plane.seed(), intent);
            let written = plane.submit(vec![command]).await.expect("it is open");
            assert!(written.iter().all(Result::is_ok), "{written:?}");
        }
        let newest = plane.state().revision;
        for (point, due) in [(format!("&asOf={newest}"), 0), (String::new(), 1)] {
            let uri = format!("{PATHS}plan?kind=configmap&name=a{point}");
            let answer = answer(&plane, &bounds(), &uri.parse().expect("a path")).await;
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            let plan: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(plan["deleted"], 1, "{plan}");
            assert_eq!(plan["goingAlready"].as_u64().unwrap_or(0), due, "{plan}");
        }
    }

    #[test]
    fn what_is_gone_and_what_is_damaged_are_no_fault_of_the_question() {
        let dropped = Pruned {
            asked: Revision(1),
            floor: Revision(9),
        };
        let pruned = AsOfError::Pruned(dropped);
        let damaged = AsOfError::Unreadable(Arc::new(Error::Clock));
        let future = AsOfError::Future(FutureRevision {
            asked: Revision(9),
            newest: Revision(1),
        });
        let of_past = [pruned, damaged, AsOfError::Busy, future].map(Failure::of_past);
        let others = [
            QueryError::UnknownKind("x".into()),
            QueryError::Log(Error::Backup("damaged".into())),
            QueryError::Log(Error::Closed),
            QueryError::Log(Error::Pruned(dropped)),
            QueryError::Rejected(Box::new(Rejection::Unprocessable)),
        ];
        let others = others.map(failure);
        let codes = of_past.iter().chain(&others);
        let codes: Vec<u16> = codes.map(|one| one.respond().status().as_u16()).collect();
        assert_eq!(codes, [410, 500, 429, 400, 400, 500, 503, 410, 422]);
    }
}
