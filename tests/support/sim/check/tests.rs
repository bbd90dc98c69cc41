//! Shows that every promise can be seen broken: a schedule that held is falsified in one place, and
//! the checker of that place must notice.

use super::{
    Checked, canaries, collector, durability, explanations, facts, linearizability, ownership,
    preconditions, projections, replay, watch,
};
use crate::sim;
use crate::sim::clients::End;
use crate::sim::server::empty;
use crate::sim::watchers::{Event, Kind, Received};
use crate::sim::{Options, Simulation};
use crate::tree::rust_sources;
use hindsight_core::object::ObjectKey;
use hindsight_core::{Cause, Commit, GroupResource, Intent, Rejection, Revision, Rule, Time};
use hindsight_projector::OwnershipGraph;
use std::collections::BTreeSet;
use std::sync::Arc;

const SEEDS: u64 = 200;
const STEPS: u64 = 150;

/// Falsifies a schedule; `None` if it offers nothing to falsify.
pub(super) type Falsify = fn(&mut Simulation) -> Option<()>;
/// The check that must notice.
pub(super) type Judge = fn(&mut Simulation) -> Checked;

/// A promise, the check that judges it, and a way to break it.
pub(super) type Row = (&'static str, Judge, Falsify);

const ROWS: &[Row] = &[
    ("watch: ordered", watches, |it| {
        let at = events(it).windows(2).find(|pair| pair[0] + 1 == pair[1])?[0];
        it.watchers[0].received.swap(at, at + 1);
        Some(())
    }),
    ("watch: unique", watches, |it| {
        let at = *events(it).first()?;
        let again = it.watchers[0].received[at].clone();
        it.watchers[0].received.insert(at, again);
        Some(())
    }),
    ("watch: atomic", watches, |it| {
        let at = *events(it).first()?;
        let mut other = it.watchers[0].received[at].clone();
        event(&mut other)?.uid = "another".into();
        it.watchers[0].received.insert(at, other);
        Some(())
    }),
    ("watch: filtered", watches, |it| {
        change_event(it, |one| one.key.name = "elsewhere".into())
    }),
    ("watch: filtered", watches, |it| {
        change_event(it, |one| {
            one.kind = match one.kind {
                Kind::Added | Kind::Modified => Kind::Deleted,
                Kind::Deleted => Kind::Added,
            };
        })
    }),
    ("watch: is-create", watches, |it| {
        change_event(it, |one| {
            one.previous = one.previous.map_or(Some(Revision(1)), |_| None);
        })
    }),
    ("watch: resumable", watches, |it| {
        let at = *events(it).first()?;
        let own = event(&mut it.watchers[0].received[at])?.revision;
        it.watchers[0].received.insert(at, Received::Resumed(own));
        Some(())
    }),
    ("watch: bookmarkable", watches, |it| {
        let at = *events(it).first()?;
        let own = event(&mut it.watchers[0].received[at])?.revision;
        it.watchers[0].received.insert(at, Received::Bookmark(own));
        Some(())
    }),
    ("watch: reliable", watches, |it| {
        it.watchers[0]
            .received
            .retain(|one| !matches!(one, Received::Bookmark(_) | Received::Resumed(_)));
        let at = *events(it).last()?;
        it.watchers[0].received.remove(at);
        it.watchers[0].received[at..]
            .iter()
            .all(|one| !matches!(one, Received::List(..)))
            .then_some(())
    }),
    ("watch: list", watches, |it| {
        let mut lists = it.watchers[0].received.iter_mut();
        lists.find_map(|one| match one {
            Received::List(_, objects) => objects.pop_first().map(drop),
            _ => None,
        })
    }),
    ("watch: list and events", watches, |it| {
        it.watchers[0].cache.pop_first().map(drop)
    }),
    ("durable before answered", exactly_once, |it| {
        it.history.commits.pop().map(drop)
    }),
    ("recovered was submitted", exactly_once, |it| {
        change_commit(
            it,
            |_| true,
            |one| Arc::make_mut(&mut one.request).uri = "0".into(),
        )
    }),
    ("exactly once", exactly_once, |it| {
        let first = it.history.commits.first()?.request.clone();
        change_commit(
            it,
            |one| one.revision.0 > 3,
            |one| one.request = first.clone(),
        )
    }),
    ("exactly once", exactly_once, |it| {
        let is_answered = |commit: &Arc<Commit>| {
            let number = commit.request.uri.parse::<u64>().ok();
            let operation = number.and_then(|number| it.clients.operations.get(&number));
            operation.is_some_and(|operation| operation.done().is_some())
        };
        let at = it.history.commits.iter().rposition(is_answered)?;
        let again = Arc::clone(it.history.commits.get(at)?);
        it.history.commits.insert(at, again);
        Some(())
    }),
    ("a refusal writes nothing", exactly_once, |it| {
        let writer: u64 = it.history.commits.last()?.request.uri.parse().ok()?;
        let end = &mut it.clients.operations.get_mut(&writer)?.end;
        *end = End::Answered {
            at: 0,
            newest: Revision(0),
            answer: Err(Rejection::Unprocessable),
        };
        Some(())
    }),
    ("reads are of one revision", linear, |it| {
        let found = it.running.as_ref()?.server.state.objects().next().cloned();
        it.clients.reads.first_mut()?.found = found;
        Some(())
    }),
    ("reads show what was written", linear, |it| {
        let mut found = it
            .clients
            .reads
            .iter_mut()
            .find_map(|one| one.found.as_mut());
        Arc::make_mut(found.as_mut()?).body = "{}".into();
        Some(())
    }),
    ("watch: contents", watches, |it| {
        let (_, _, shown) = it.watchers[0].shown.first_mut()?;
        Arc::make_mut(shown).body = "{}".into();
        Some(())
    }),
    ("reads see what was acknowledged", linear, |it| {
        let read = it.clients.reads.last_mut()?;
        read.revision = Revision(0);
        read.found = None;
        Some(())
    }),
    ("writes follow what was acknowledged", linear, |it| {
        let first = it.clients.operations.values_mut().find(|one| {
            one.done()
                .is_some_and(|(_, _, decision)| !decision.commits.is_empty())
        })?;
        first.sent = u64::MAX;
        Some(())
    }),
    ("answers show what is visible", linear, |it| {
        let mut operations = it.clients.operations.values_mut();
        operations.find_map(|one| match &mut one.end {
            End::Answered {
                newest,
                answer: Ok(_),
                ..
            } => {
                *newest = Revision::ZERO;
                Some(())
            }
            _ => None,
        })
    }),
    ("refusals are right at some moment", linear, |it| {
        it.clients
            .operations
            .values_mut()
            .find_map(|one| match &mut one.end {
                End::Answered {
                    newest,
                    answer: Err(refusal @ Rejection::AlreadyExists { .. }),
                    ..
                } => {
                    let Rejection::AlreadyExists { resource, name, .. } = refusal else {
                        return None;
                    };
                    (*newest == one.base).then_some(())?;
                    *refusal = Rejection::NotFound {
                        resource: resource.clone(),
                        name: name.clone(),
                    };
                    Some(())
                }
                _ => None,
            })
    }),
    ("preconditions hold", conditions, |it| {
        let done = it.clients.operations.values_mut().filter(|one| {
            one.done()
                .is_some_and(|(_, _, decision)| !decision.commits.is_empty())
        });
        done.into_iter()
            .find_map(|one| match &mut one.command.intent {
                Intent::Delete(delete) => {
                    delete.target.uid = Some("another".into());
                    Some(())
                }
                _ => None,
            })
    }),
    ("an object lives once", fact, |it| {
        change_commit(
            it,
            |one| one.object().is_none(),
            |one| one.uid = "another".into(),
        )
    }),
    ("every commit has a cause", fact, |it| {
        change_commit(it, |_| true, |one| one.cause = Cause::Commit(one.revision))
    }),
    (
        "no live owner's dependent is collected",
        |it| ownership::check(&it.history).map(drop),
        |it| falsify_rule(it, Rule::OwnersAbsent),
    ),
    (
        "the graph shows who owns whom",
        |it| ownership::check(&it.history)?.check_graph(&OwnershipGraph::default()),
        |_| Some(()),
    ),
    ("no job goes before its time", fact, |it| {
        falsify_rule(it, Rule::TtlAfterFinished)
    }),
    ("namespaces hold", fact, |it| {
        let is_new = |one: &Commit| one.key.resource.resource.as_ref() == "configmaps";
        change_commit(it, is_new, |one| one.key.namespace = "nowhere".into())
    }),
    ("finalizers hold", fact, |it| {
        let delete = it
            .clients
            .operations
            .values()
            .find_map(|one| match &one.command.intent {
                intent @ Intent::Delete(_) => Some(intent.clone()),
                _ => None,
            })?;
        // As if those who patched or replaced had deleted instead.
        for one in it.clients.operations.values_mut() {
            if matches!(one.command.intent, Intent::Patch(_) | Intent::Update(_)) {
                one.command.intent = delete.clone();
            }
        }
        Some(())
    }),
    ("the audit finds nothing", explanation, |it| {
        change_commit(it, |_| true, |one| one.cause = Cause::Commit(one.revision))
    }),
    ("every removal is explained", explanation, |it| {
        let removal = it
            .history
            .commits
            .iter()
            .find(|one| one.object().is_none())?
            .revision;
        // Truncates the history at a removal and makes the requests in it name another commit as
        // their cause.
        it.history
            .commits
            .truncate(usize::try_from(removal.0).ok()?);
        let commits = it.history.commits.iter_mut();
        let requests = commits.filter(|one| one.cause == Cause::Request && one.revision.0 > 2);
        requests.for_each(|one| Arc::make_mut(one).cause = Cause::Commit(Revision(1)));
        Some(())
    }),
    ("kept kinds are kept whole", replays, |it| {
        // As if a log that was thinned without them had been thinned with them.
        let is_thinned = it.history.thinned_to > Revision::ZERO;
        let is_new = it.history.kept_kinds.is_empty();
        it.history.kept_kinds = vec![GroupResource::new("", "configmaps")];
        (is_thinned && is_new).then_some(())
    }),
    ("replay equals live", replays, |it| {
        let states = it.history.states.iter_mut();
        states.for_each(|state| *state = empty());
        Some(())
    }),
    (
        "projections equal their rebuild",
        |it| {
            let state = it.running.as_ref().expect("it runs").server.state.clone();
            projections::check(&state, &OwnershipGraph::default())
        },
        |_| Some(()),
    ),
    (
        "jobs go when their time is over",
        |it| {
            let state = it.running.as_ref().expect("it runs").server.state.clone();
            collector::nothing_is_left(&state, Time(i64::MAX))
        },
        |it| {
            let state = &it.running.as_ref()?.server.state;
            state
                .objects()
                .any(|one| collector::ends(one).is_some() && !one.is_deleting())
                .then_some(())
        },
    ),
];

fn watches(it: &mut Simulation) -> Checked {
    watch::check(&it.history, &it.watchers[0], &mut it.trace)
}

fn exactly_once(it: &mut Simulation) -> Checked {
    durability::exactly_once(&it.history, &it.clients)
}

fn linear(it: &mut Simulation) -> Checked {
    linearizability::check(&it.history, &it.clients, &mut it.trace)
}

fn conditions(it: &mut Simulation) -> Checked {
    preconditions::check(&it.history, &it.clients, &mut it.trace)
}

fn fact(it: &mut Simulation) -> Checked {
    facts::check(&it.history, &it.clients, &mut it.trace)
}

fn replays(it: &mut Simulation) -> Checked {
    let running = it.running.as_ref().expect("it runs");
    let read = replay::Read::from(&running.server.reader, it.history.thinned_to)?;
    replay::check(&it.history, &read, &mut it.dice)
}

fn explanation(it: &mut Simulation) -> Checked {
    let running = it.running.as_ref().expect("it runs");
    let read = replay::Read::from(&running.server.reader, it.history.thinned_to)?;
    explanations::check(&it.history, &read, &mut it.trace)
}

/// The positions at which the first watch received events.
fn events(it: &Simulation) -> Vec<usize> {
    let received = it.watchers[0].received.iter().enumerate();
    let events = received.filter(|(_, one)| matches!(one, Received::Event(_)));
    events.map(|(index, _)| index).collect()
}

fn event(received: &mut Received) -> Option<&mut Event> {
    match received {
        Received::Event(event) => Some(event),
        _ => None,
    }
}

fn change_event(it: &mut Simulation, change: fn(&mut Event)) -> Option<()> {
    let at = *events(it).first()?;
    event(&mut it.watchers[0].received[at]).map(change)
}

fn change_commit(
    it: &mut Simulation,
    of: impl Fn(&Commit) -> bool,
    change: impl Fn(&mut Commit),
) -> Option<()> {
    let commit = it.history.commits.iter_mut().find(|one| of(one))?;
    change(Arc::make_mut(commit));
    Some(())
}

/// Makes one removal of an object without owners claim this rule.
fn falsify_rule(it: &mut Simulation, said: Rule) -> Option<()> {
    use hindsight_core::Event::ObjectDeleted;
    let mut before = BTreeSet::<ObjectKey>::new();
    for commit in &mut it.history.commits {
        let quiet = commit
            .object()
            .is_some_and(|one| one.meta.owner_references.is_empty() && !one.is_deleting());
        if quiet {
            before.insert(commit.key.clone());
        } else if commit.object().is_some() {
            before.remove(&commit.key);
        } else if before.contains(&commit.key) {
            let commit = Arc::make_mut(commit);
            if let Some(ObjectDeleted { rule, .. }) = commit.events.last_mut() {
                *rule = said;
                return Some(());
            }
        }
    }
    None
}

#[test]
fn whatever_is_falsified_is_noticed() {
    for (checker, judge, falsify) in ROWS.iter().chain(canaries::ROWS) {
        let noticed = (1..=SEEDS).find_map(|seed| {
            let mut it = Simulation::new(Options::of(seed, STEPS));
            it.play(None).expect("it holds before it is falsified");
            falsify(&mut it)?;
            judge(&mut it).err()
        });
        let violation = noticed.unwrap_or_else(|| panic!("{checker}: nobody notices"));
        assert_eq!(violation.checker, *checker, "{}", violation.what);
    }
}

/// The names of all promises that a checker may report as broken, taken from the sources.
fn promises() -> BTreeSet<String> {
    let sources = rust_sources().filter(|one| {
        one.path.starts_with("tests/support/sim") && !one.path.contains("/check/tests")
    });
    let mut found = BTreeSet::new();
    for source in sources {
        let ensured = source.text.split("ensure(").skip(1);
        for rest in ensured.chain(source.text.split("violation(").skip(1)) {
            if let Some(text) = rest.trim_start().strip_prefix('"') {
                found.extend(text.split('"').next().map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn every_promise_has_been_seen_broken() {
    let rows = ROWS.iter().chain(canaries::ROWS);
    let mut broken: BTreeSet<String> = rows.map(|(name, ..)| (*name).to_owned()).collect();
    let wrong = ownership::tests::WRONG.iter();
    broken.extend(wrong.map(|(name, _)| (*name).to_owned()));
    // The test below covers this one.
    broken.insert("nothing panics".into());
    let promises = promises();
    assert!(promises.len() > 40, "{promises:?}");
    let never: Vec<&String> = promises.difference(&broken).collect();
    assert!(never.is_empty(), "nobody has seen these broken: {never:?}");
}

#[test]
fn a_panic_is_a_failure_with_a_trace() {
    let nobody = Options {
        clients: 0,
        ..Options::of(1, STEPS)
    };
    let failure = sim::run(nobody).expect_err("a choice among none");
    assert_eq!(failure.violation.checker, "nothing panics");
    assert!(!failure.trace.lines.is_empty());
}
