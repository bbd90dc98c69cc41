//! `/hindsight/v1/...`: the questions that only this server can answer, asked by its own command line and by
//! anybody who may read.

use crate::ControlPlane;
use crate::answer::StateAnswer;
use crate::inspect::{self, Filter, Owner, QueryError, Selection, World};
use hindsight_api::{ApiBody, AsOf, Backend, Failure, Gap, Past, percent_decode};
use hindsight_core::Revision;
use hindsight_core::command::Propagation;
use hindsight_log::Error;
use http::{Response, Uri, header};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The prefix of their paths.
pub(super) const PATHS: &str = "/hindsight/v1/";
/// How many questions are answered at the same time.
const WALKS_MAX: usize = 4;
/// How long a question waits for its turn before the client is told to try again.
const WAIT_MAX: Duration = Duration::from_secs(3);

const REVISION: &str = "a revision, such as 42";
const POINT: &str = "a revision, such as 42, or an RFC 3339 time, such as 2026-01-31T12:00:00Z";

/// Names what may be asked; `kind` and `owner` are for the command line alone.
const NO_QUESTION: &str =
    "no such question; ask for log, why, plan or state, as docs/time-travel.md shows";

/// The parameters that narrow a question.
const NARROWING: [&str; 6] = ["kind", "namespace", "name", "uid", "user", "verb"];

/// Each question, with the parameters that it takes.
const QUESTIONS: [(&str, &[&str]); 6] = [
    (
        "log",
        &[
            "kind",
            "namespace",
            "name",
            "uid",
            "user",
            "verb",
            "since",
            "until",
            "from",
        ],
    ),
    ("why", &["kind", "namespace", "name", "uid"]),
    (
        "plan",
        &[
            "kind",
            "namespace",
            "name",
            "uid",
            "propagationPolicy",
            "asOf",
        ],
    ),
    ("state", &["asOf"]),
    ("kind", &["kind", "asOf"]),
    (
        "owner",
        &["apiVersion", "kind", "namespace", "name", "uid", "asOf"],
    ),
];

/// The places for questions: each may read the whole log.
pub(super) fn places() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(WALKS_MAX))
}

pub(super) async fn answer(
    plane: &ControlPlane,
    places: &Arc<Semaphore>,
    uri: &Uri,
) -> Response<ApiBody> {
    match answered(plane, places, uri).await {
        Ok((document, gap)) => {
            let mut answer = respond(&document);
            if let Some(gap) = gap {
                gap.warn(&mut answer);
            }
            answer
        }
        Err(failure) => failure.respond(),
    }
}

async fn answered(
    plane: &ControlPlane,
    places: &Arc<Semaphore>,
    uri: &Uri,
) -> Result<(Value, Option<Gap>), Failure> {
    let question = uri.path().trim_start_matches(PATHS).to_owned();
    let params = QueryParams::read(uri.query().unwrap_or_default())
        .and_then(|params| params.check(&question).map(|()| params))
        .map_err(Failure::bad_request)?;
    let plane = plane.clone();
    let past = match params.point {
        Some(point) => Backend::as_of(&plane, point)
            .await
            .map_err(Failure::of_past)?,
        None => Past::newest(plane.state()),
    };
    let place = Arc::clone(places).acquire_owned();
    let Ok(Ok(walk)) = timeout(WAIT_MAX, place).await else {
        let message = "too many others are reading the log; try again in a second";
        return Err(Failure::too_many(message));
    };
    let gap = past.gap;
    let work = move || {
        let answer = ask(&plane, &question, &past.state, &params);
        // The work goes on if the client has gone, and keeps its place until it is done.
        drop((walk, past));
        answer
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(Some(document))) => Ok((document, gap)),
        Ok(Ok(None)) => Err(Failure::not_found(NO_QUESTION)),
        Ok(Err(error)) => Err(failure(error)),
        Err(_) => Err(Failure::internal("the answer failed".into())),
    }
}

fn failure(error: QueryError) -> Failure {
    match error {
        QueryError::Rejected(rejection) => (*rejection).into(),
        QueryError::UnknownKind(_) | QueryError::Refused(_) => {
            Failure::bad_request(error.to_string())
        }
        QueryError::Log(Error::Pruned(_)) => Failure::expired(error.to_string()),
        QueryError::Log(_) => Failure::internal(error.to_string()),
    }
}

/// The parameters of a question; those that not every text is valid for are parsed.
struct QueryParams {
    texts: BTreeMap<String, String>,
    point: Option<AsOf>,
    from: Revision,
    propagation: Propagation,
}

impl QueryParams {
    /// Parses a query. A plus stands for itself, since times contain it; of a name that is repeated the last
    /// value counts.
    fn read(query: &str) -> Result<Self, String> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let read = |(name, value): (&str, &str)| Ok((name.to_owned(), percent_decode(value)?));
        let texts = pairs
            .map(read)
            .collect::<Result<BTreeMap<_, _>, String>>()?;
        let point = value(&texts, "asOf", POINT, AsOf::parse)?;
        let from = value(&texts, "from", REVISION, |text| {
            text.parse().map(Revision).ok()
        })?;
        for name in ["since", "until"] {
            value(&texts, name, POINT, AsOf::parse)?;
        }
        let propagation = propagation(&texts)?;
        Ok(Self {
            texts,
            point,
            from: from.unwrap_or(Revision(1)),
            propagation,
        })
    }

    /// Checks that the question takes these parameters.
    fn check(&self, question: &str) -> Result<(), String> {
        // An owner's namespace may be empty.
        if question != "owner" {
            refuse_empty(&self.texts)?;
        }
        if ["why", "plan"].contains(&question) && !self.texts.contains_key("name") {
            return Err("the name is missing; name one object".into());
        }
        let taken = QUESTIONS.iter().find(|(name, _)| *name == question);
        let taken = taken.map_or(&[][..], |(_, taken)| taken);
        let is_unknown = |name: &&String| !taken.is_empty() && !taken.contains(&name.as_str());
        match self.texts.keys().find(is_unknown).map(String::as_str) {
            Some("asOf") if question == "log" => Err("log does not take asOf; use until".into()),
            Some(name) => {
                let taken = taken.join(", ");
                Err(format!(
                    "{question} does not take {name:?}; it takes {taken}"
                ))
            }
            None => Ok(()),
        }
    }
}

fn ask(
    plane: &ControlPlane,
    question: &str,
    state: &hindsight_core::State,
    params: &QueryParams,
) -> Result<Option<Value>, QueryError> {
    let text = |name: &str| params.texts.get(name).filter(|text| !text.is_empty());
    let get = |name| text(name).cloned();
    let filter = Filter {
        kind: get("kind"),
        namespace: get("namespace"),
        name: get("name"),
        uid: get("uid"),
        user: get("user"),
        verb: get("verb"),
        since: get("since").as_deref().and_then(AsOf::parse),
        until: get("until").as_deref().and_then(AsOf::parse),
    };
    Ok(match question {
        "log" => {
            let history = plane.history();
            let selection = Selection::of(&history, &filter, state)?;
            let page = inspect::page(&history, &selection, params.from)?;
            Some(json!(page))
        }
        "why" => Some(json!(inspect::why(&plane.history(), state, &filter)?)),
        "plan" => {
            let now = if params.point.is_some() {
                inspect::time_of(plane.reader(), state)?
            } else {
                plane.now()
            };
            let reader = plane.reader();
            let world = World { reader, state, now };
            let plan = inspect::plan(world, &filter, params.propagation)?;
            Some(json!(plan))
        }
        "kind" => {
            let kind = filter.kind.unwrap_or_default();
            Some(json!(inspect::served(state, &kind)?))
        }
        "owner" => {
            let owner = Owner {
                api_version: get("apiVersion").unwrap_or_default(),
                kind: filter.kind.unwrap_or_default(),
                namespace: filter.namespace.unwrap_or_default(),
                name: filter.name.unwrap_or_default(),
                uid: filter.uid.unwrap_or_default(),
            };
            Some(json!(inspect::stance(state, &owner)))
        }
        "state" => Some(json!(StateAnswer::of(state))),
        _ => None,
    })
}

/// The propagation policy, as Kubernetes spells it; background if none is given.
fn propagation(query: &BTreeMap<String, String>) -> Result<Propagation, String> {
    let text = query.get("propagationPolicy").map_or("", String::as_str);
    match text {
        "" => Ok(Propagation::Background),
        sent => Propagation::named(sent).ok_or_else(|| {
            format!("propagationPolicy={sent} is invalid; use Background, Foreground or Orphan")
        }),
    }
}

/// A parameter, if it is given: one that cannot be parsed is an error, and does not count as absent.
fn value<T>(
    query: &BTreeMap<String, String>,
    name: &str,
    form: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let value = read(text);
    let value = value.ok_or_else(|| format!("{name}={text} is invalid; give {form}"))?;
    Ok(Some(value))
}

/// Refuses an empty value that would narrow a question: it would narrow nothing, or match nothing, and nobody
/// means that.
fn refuse_empty(texts: &BTreeMap<String, String>) -> Result<(), String> {
    let mut names = NARROWING.into_iter();
    match names.find(|name| texts.get(*name).is_some_and(String::is_empty)) {
        Some(name) => Err(format!("{name} is empty; give a value, or leave it out")),
        None => Ok(()),
    }
}

fn respond(document: &Value) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody::full(document.to_string()));
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plane;
    use hindsight_api::AsOfError;
    use hindsight_core::Time;
    use hindsight_core::command::{Create, FieldValidation, Patch, PatchObject};
    use hindsight_core::kind::Subresource;
    use hindsight_core::{
        Actor, Command, FutureRevision, GroupResource, Intent, ObjectKey, Pruned, Rejection,
    };
    use http::StatusCode;
    use http_body_util::BodyExt;

    #[tokio::test(start_paused = true)]
    async fn one_walk_of_the_log_too_many_waits_and_gets_429() {
        let (plane, places) = (plane(), places());
        let uri = Uri::from_static("/hindsight/v1/log");
        let asked = || async { answer(&plane, &places, &uri).await.status() };
        let three = places.acquire_many(3).await.expect("free");
        assert_eq!(asked().await, StatusCode::OK);
        let fourth = places.acquire().await.expect("free");
        assert_eq!(asked().await, StatusCode::TOO_MANY_REQUESTS);
        drop((three, fourth));
        assert_eq!(asked().await, StatusCode::OK);
    }

    #[tokio::test]
    async fn an_unknown_path_lists_the_endpoints() {
        let (plane, places) = (plane(), places());
        let ask = async |question: &str| {
            let uri = format!("{PATHS}{question}").parse().expect("a path");
            let answer = answer(&plane, &places, &uri).await;
            let code = answer.status();
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            (code, String::from_utf8_lossy(&body).into_owned())
        };
        for question in ["", "reasons"] {
            let (code, said) = ask(question).await;
            assert_eq!(code, StatusCode::NOT_FOUND);
            assert!(said.contains("ask for log, why, plan or state"), "{said}");
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
            let answer = answer(&plane, &places(), &uri.parse().expect("a path")).await;
            let body = answer.into_body().collect().await.expect("read").to_bytes();
            let plan: Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(plan["deleted"], 1, "{plan}");
            assert_eq!(plan["goingAlready"].as_u64().unwrap_or(0), due, "{plan}");
        }
    }

    #[test]
    fn a_parameter_is_read_as_it_was_escaped_and_what_is_no_escape_is_refused() {
        let params =
            QueryParams::read("name=a%2Bb&since=2026-01-31T12:00:00+01:00&kind").expect("read");
        assert_eq!(params.texts["name"], "a+b");
        assert_eq!(params.texts["since"], "2026-01-31T12:00:00+01:00");
        assert_eq!(params.texts["kind"], "");
        for query in [
            "name=%", "name=%4", "name=%zz", "name=%ff", "asOf=x", "from=1h",
        ] {
            assert!(QueryParams::read(query).is_err(), "{query}");
        }
    }

    #[test]
    fn what_is_gone_and_what_is_damaged_are_no_fault_of_the_question() {
        let pruned = AsOfError::Pruned(Pruned {
            asked: Revision(1),
            floor: Revision(9),
        });
        let damaged = AsOfError::Unreadable(Arc::new(Error::Clock));
        let future = AsOfError::Future(FutureRevision {
            asked: Revision(9),
            newest: Revision(1),
        });
        let of_past = [pruned, damaged, AsOfError::Busy, future].map(Failure::of_past);
        let others = [
            QueryError::UnknownKind("x".into()),
            QueryError::Log(Error::Backup("damaged".into())),
            QueryError::Rejected(Box::new(Rejection::Unprocessable)),
        ];
        let others = others.map(failure);
        let codes = of_past.iter().chain(&others);
        let codes: Vec<u16> = codes.map(|one| one.respond().status().as_u16()).collect();
        assert_eq!(codes, [410, 500, 429, 400, 400, 500, 422]);
    }

    #[test]
    fn a_parameter_that_a_question_does_not_take_is_refused() {
        for (question, query, is_taken) in [
            ("log", "kind=pod&user=admin&from=3", true),
            ("log", "frm=3", false),
            ("log", "asOf=3", false),
            ("why", "kind=pod&name=a&asof=3", false),
            ("why", "kind=pod&name=a&asOf=3", false),
            ("plan", "kind=pod&name=a&asOf=3", true),
            ("plan", "kind=pod&name=a&user=b", false),
            ("state", "asOf=3", true),
            ("state", "name=a", false),
            ("no-such-question", "x=1", true),
        ] {
            let params = QueryParams::read(query).expect("read");
            assert_eq!(
                params.check(question).is_ok(),
                is_taken,
                "{question}?{query}"
            );
        }
    }
}
