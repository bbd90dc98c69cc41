//! Shows that further promises can be seen broken: those that no change of the recorded history
//! breaks. Here the simulated world itself is changed, or the checker is asked about a world that did
//! not happen.

use super::tests::Row;
use super::{
    Checked, collector, dry_run, durability, explanations, facts, linearizability, ownership,
    replay,
};
use crate::naive;
use crate::reference::Policy;
use crate::sim::disk::Fault;
use crate::sim::{Bug, Simulation, restoring};
use hindsight_core::{
    Cause, Change, Commit, Event, GroupResource, ObjectKey, Rejection, Revision, Rule, State, Time,
    apply,
};
use hindsight_projector::OwnershipGraph;
use std::sync::Arc;

/// Further rows for the test that every broken promise is noticed.
pub(super) const ROWS: &[Row] = &[
    ("acknowledged is recovered", opens, |it| {
        let mut inner = it.disk.inner();
        inner.witness = None;
        inner.durable.pop_last()?;
        inner.live.pop_last().map(drop)
    }),
    (
        "acknowledged is recovered",
        |it| {
            let state = &it.running.as_ref().expect("it runs").server.state;
            durability::same_end(state, it.history.newest())
        },
        |it| it.history.commits.pop().map(drop),
    ),
    ("recovered as acknowledged", opens, |it| {
        let last = it.history.commits.last_mut()?;
        Arc::make_mut(last).time.0 += 1;
        Some(())
    }),
    ("recovered was submitted", opens, |it| {
        // As if nobody had seen the last commit, although its author was answered.
        it.history.commits.pop()?;
        it.history.states.pop()?;
        let newest = it.history.newest();
        it.watchers
            .iter_mut()
            .for_each(|one| one.position = Some(newest));
        Some(())
    }),
    ("a sound log opens", opens, flip_a_bit),
    ("a sound log is read", reads, flip_a_bit),
    (
        "owners ended as is told",
        |it| {
            let running = it.running.as_ref().expect("it runs");
            let read = replay::Read::from(&running.server.reader, it.history.thinned_to)?;
            explanations::removals(&it.history, &read, &mut it.trace)
        },
        |it| {
            let is_taken = |event: &Event| matches!(event, Event::OwnerRemoved { .. });
            for commit in &mut it.history.commits {
                Arc::make_mut(commit).events.retain(|one| !is_taken(one));
            }
            Some(())
        },
    ),
    (
        "durable before visible",
        |it| {
            let reader = &it.running.as_ref().expect("it runs").server.reader;
            let newest = reader.newest().expect("it is sound");
            it.check_visible(newest, "a reader of the log")
        },
        |it| it.history.commits.pop().map(drop),
    ),
    (
        "what is gone is refused",
        |it| {
            let running = it.running.as_ref().expect("it runs");
            replay::check_pruned(&running.server.reader, Revision(1), Revision::MAX)
        },
        |_| Some(()),
    ),
    (
        "history is kept above the floor",
        |it| {
            it.history.thinned_to = it.history.thinned_to.previous();
            reads(it)
        },
        |it| {
            let reader = &it.running.as_ref()?.server.reader;
            let floor = reader.floor().ok()?;
            (floor > Revision::ZERO && floor == it.history.thinned_to).then_some(())
        },
    ),
    (
        "revisions follow each other",
        |it| {
            let first = it.history.commits[0].clone();
            it.history.push(&first)
        },
        |_| Some(()),
    ),
    (
        "watch: previous value",
        |it| {
            let commit = it.history.commits.pop().expect("there is one");
            it.history.states.pop();
            let there = it.history.replica().get(&commit.key).cloned();
            let other = it.history.replica().objects().next().cloned();
            let previous = if there.is_none() { other } else { None };
            it.history.push_change(&Change { commit, previous })
        },
        |_| Some(()),
    ),
    ("an identity goes once", facts, |it| {
        let removed = |one: &&Arc<Commit>| one.object().is_none();
        let at = it.history.commits.iter().position(|one| removed(&one))?;
        // As if the object had been there again, and was removed again.
        let (commit, before) = (
            it.history.commits[at].clone(),
            it.history.states[at].clone(),
        );
        *it.history.states.last_mut()? = before;
        it.history.commits.push(commit);
        Some(())
    }),
    (
        "answers show what was written",
        |it| linearizability::check(&it.history, &it.clients, &mut it.trace),
        show_another_version,
    ),
    (
        "refusals are right at some moment",
        |it| linearizability::check(&it.history, &it.clients, &mut it.trace),
        answer_before_it_changed,
    ),
    (
        "dry run equals real run",
        |it| dry_run::check(&it.clients, &mut it.trace),
        |it| {
            let dry_runs = it
                .clients
                .operations
                .values_mut()
                .filter_map(|one| one.dry_run.as_mut());
            dry_runs.for_each(|dry| *dry = Err(Rejection::Unprocessable));
            Some(())
        },
    ),
    (
        "a plan comes true",
        |it| {
            let state = it.running.as_ref().expect("it runs").server.state.clone();
            let object = any(&state).expect("there is one");
            let intent = naive::delete(object, Some(Policy::Background));
            let numbers = it.send(Some(0), vec![(intent, Cause::Request)]);
            let command = it.clients.operations[&numbers[0]].command.clone();
            let plan = dry_run::plan(&state, &command, it.clock)?;
            dry_run::check_plan(&plan, &state, &state, &it.history)
        },
        |it| any(&it.running.as_ref()?.server.state).map(drop),
    ),
    (
        "collector as the naive one",
        |it| {
            let state = it.running.as_ref().expect("it runs").server.state.clone();
            let mut expected = naive::world(&state);
            let object = any(&state)
                .and_then(|key| state.get(&key).cloned())
                .expect("there is one");
            expected.delete(object.meta.uid.as_str(), Some(Policy::Background));
            collector::ends_as_expected(expected, &state)
        },
        |it| any(&it.running.as_ref()?.server.state).map(drop),
    ),
    (
        "nothing outlives its namespace",
        |it| without(it, "namespaces", "n1"),
        |it| {
            let state = &it.running.as_ref()?.server.state;
            (state.population("n1") > 0).then_some(())
        },
    ),
    (
        "nothing outlives its kind",
        |it| without(it, "customresourcedefinitions", "widgets.example.com"),
        |it| {
            let state = &it.running.as_ref()?.server.state;
            let widgets = GroupResource::new("example.com", "widgets");
            state.list(&widgets, None).next().map(drop)
        },
    ),
    (
        "a removal names its cause",
        |it| explanations::causes(&it.history),
        |it| {
            let commits = &mut it.history.commits;
            let at = commits
                .iter()
                .position(|commit| takes_who_lost_an_owner(commit))?;
            Arc::make_mut(&mut commits[at]).cause = Cause::Commit(Revision::ZERO);
            explanations::causes(&it.history).is_err().then_some(())
        },
    ),
    (
        "removals of owners are known",
        |it| {
            let state = &it.history.states[it.history.commits.len()];
            let forgetful = OwnershipGraph::rebuild(state);
            ownership::check(&it.history)?.check_removals(&forgetful, true)
        },
        |it| {
            // The moment after an owner was removed and before its dependent is.
            let commits = &it.history.commits;
            let at = commits
                .iter()
                .position(|commit| takes_who_lost_an_owner(commit))?;
            let Cause::Commit(cause) = commits[at].cause else {
                return None;
            };
            it.history.commits.truncate(usize::try_from(cause.0).ok()?);
            let last = it.history.commits.last()?;
            last.object().is_none().then_some(())
        },
    ),
    (
        "a backup holds what was answered",
        Simulation::back_up,
        |it| {
            let mut more = Commit::clone(it.history.commits.last()?);
            more.revision = it.history.newest().next();
            it.history.commits.push(Arc::new(more));
            Some(())
        },
    ),
    (
        "a broken backup is refused",
        |it| restoring::check_refused(&it.backup.as_ref().expect("there is one").bytes),
        |it| it.back_up().ok(),
    ),
    ("a whole backup is restored", Simulation::restore, |it| {
        it.back_up().ok()?;
        it.backup.as_mut()?.bytes.pop().map(drop)
    }),
    (
        "no revision is given out twice",
        Simulation::restore,
        |it| {
            it.back_up().ok()?;
            for name in ["another", "one-more"] {
                let intent = naive::create_namespace(name);
                it.send(Some(0), vec![(intent, Cause::Request)]);
            }
            it.drain_writer().ok()?;
            it.options.bug = Some(Bug::RestoreRepeats);
            Some(())
        },
    ),
    ("a restore was asked for", opens, |it| {
        it.back_up().ok()?;
        it.restore().ok()?;
        it.history.log.restores.clear();
        Some(())
    }),
    ("liveness", Simulation::drain_writer, |it| {
        it.slow = u64::MAX;
        it.send(
            Some(0),
            vec![(naive::create_namespace("another"), Cause::Request)],
        );
        Some(())
    }),
    (
        "the writer fails with its disk",
        |it| {
            it.send(
                Some(0),
                vec![(naive::create_namespace("another"), Cause::Request)],
            );
            it.decide();
            it.sync()
        },
        |it| {
            // As if the disk had not refused what it is about to.
            it.disk.inner().armed = Some((0, Fault::Refused));
            it.running.as_mut()?.refused = u64::MAX;
            Some(())
        },
    ),
];

/// Kills the process and starts it again from the beginning of the log.
fn opens(it: &mut Simulation) -> Checked {
    it.snapshots.clear();
    it.kill();
    it.start()
}

fn reads(it: &mut Simulation) -> Checked {
    let reader = &it.running.as_ref().expect("it runs").server.reader;
    replay::Read::from(reader, it.history.thinned_to).map(drop)
}

fn facts(it: &mut Simulation) -> Checked {
    facts::check(&it.history, &it.clients, &mut it.trace)
}

/// Flips a bit and lets the disk forget that it is damaged.
fn flip_a_bit(it: &mut Simulation) -> Option<()> {
    it.disk.rot()?;
    it.disk.inner().damage.clear();
    Some(())
}

/// Makes the answer to one create or update show a version that nobody wrote.
fn show_another_version(it: &mut Simulation) -> Option<()> {
    use crate::sim::clients::End;
    for operation in it.clients.operations.values_mut() {
        let End::Answered {
            answer: Ok(decision),
            ..
        } = &mut operation.end
        else {
            continue;
        };
        let Some(last) = decision.commits.last_mut() else {
            continue;
        };
        let event = Arc::make_mut(last).events.last_mut();
        if let Some(Event::ObjectCreated { object } | Event::ObjectUpdated { object }) = event {
            Arc::make_mut(object).revision.0 += 1;
            return Some(());
        }
    }
    None
}

/// As if conflicts had been answered while the object was still at the version that was asked for.
fn answer_before_it_changed(it: &mut Simulation) -> Option<()> {
    use crate::sim::clients::End;
    let mut found = None;
    for operation in it.clients.operations.values_mut() {
        if let End::Answered {
            newest,
            answer: Err(Rejection::Conflict { .. }),
            ..
        } = &mut operation.end
        {
            *newest = operation.base;
            found = Some(());
        }
    }
    found
}

/// An object that clients created and that is not being deleted.
fn any(state: &State) -> Option<ObjectKey> {
    let maps = GroupResource::new("", "configmaps");
    let found = state.list(&maps, None).find(|one| !one.is_deleting());
    found.map(|one| one.key.clone())
}

/// Removes this namespace or definition from the final state and checks what is left in it.
fn without(it: &mut Simulation, resource: &str, name: &str) -> Checked {
    let mut state = it.running.as_ref().expect("it runs").server.state.clone();
    let found = state
        .objects()
        .find(|one| &*one.key.resource.resource == resource && &*one.key.name == name);
    let object = found.expect("it is there").clone();
    let mut commit = Commit::clone(&it.history.commits[0]);
    commit.revision = state.revision.next();
    commit.key = object.key.clone();
    commit.uid = object.meta.uid.clone();
    commit.events = vec![Event::ObjectDeleted {
        rule: Rule::Requested,
        owners: Vec::new(),
        decided_at: state.revision,
    }];
    apply(&mut state, &commit);
    collector::nothing_is_left(&state, Time(0))
}

fn takes_who_lost_an_owner(commit: &Commit) -> bool {
    let verdicts = commit.deletions();
    let mut rules = verdicts.map(|(rule, _)| rule);
    rules.any(|rule| rule == Rule::OwnersAbsent)
}
