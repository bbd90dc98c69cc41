//! The steps of clients, the writer, the collector and the watches.

use super::check::{self, Checked};
use super::clients::{End, Operation, Read};
use super::collecting::Turn;
use super::watchers::with_contents_of;
use super::{Bug, Simulation, workload};
use crate::sim::server::empty;
use crate::world;
use hindsight_core::{Cause, Command, Intent, Pruned, Request, Revision, Time, decide};
use hindsight_log::Error;
use std::sync::Arc;

/// The bytes of objects in a part of what the collector submits: mostly all of them, as in the product; and as after
/// the disk was full.
const PART_BYTES: [usize; 4] = [4 << 20, 4 << 20, 1_000, 1];
/// One in this many requests is also run as a dry run.
const DRY_RUN_EVERY: u64 = 2;

impl Simulation {
    pub(super) fn request(&mut self) {
        let client = usize::try_from(self.dice.roll(self.options.clients as u64)).expect("small");
        let Some(running) = self
            .running
            .as_ref()
            .filter(|_| !self.clients.is_waiting(client))
        else {
            return;
        };
        let again = self
            .clients
            .unanswered_intent(client)
            .filter(|_| self.dice.roll(3) > 0);
        if let Some(intent) = again {
            self.trace.count("asked again", 1);
            self.send(Some(client), vec![(intent, Cause::Request)]);
            return;
        }
        // Sometimes several at once, as the deletion of a collection sends them.
        let count = self.dice.pick(&[1, 1, 1, 4]);
        let number = self.clients.next_number();
        let intents = (number..number + count).map(|number| {
            let state = &running.server.state;
            let now = Time(self.clock);
            let intent = workload::intent(&mut self.dice, state, &self.options, now, number);
            (intent, Cause::Request)
        });
        let intents = intents.collect();
        self.send(Some(client), intents);
    }

    /// Submits commands together, and returns their numbers.
    pub(super) fn send(
        &mut self,
        client: Option<usize>,
        intents: Vec<(Intent, Cause)>,
    ) -> Vec<u64> {
        let Some(running) = &self.running else {
            return Vec::new();
        };
        let base = running.server.state.revision;
        let mut commands = Vec::new();
        for (intent, cause) in intents {
            let number = self.clients.next_number();
            let sent = self.clients.tick();
            let command = command(number, self.clock, intent, cause);
            let dry_run = client.filter(|_| self.dice.roll(DRY_RUN_EVERY) == 0);
            let dry_run = dry_run.map(|_| {
                let mut dry_command = command.clone();
                dry_command.time.0 += i64::from(self.options.has(Bug::DryRunGuesses));
                decide(&running.server.state, dry_command)
            });
            commands.push((number, command.clone()));
            self.trace.note(
                who(client),
                format_args!("{number} at {base}: {:?}", command.intent),
            );
            let operation = Operation {
                number,
                client,
                command,
                sent,
                base,
                dry_run,
                end: End::Pending,
            };
            self.clients.send(operation);
        }
        let numbers = commands.iter().map(|(number, _)| *number).collect();
        if self.overloaded > 0 {
            self.overloaded -= 1;
            running.server.turn_away(&commands);
        } else {
            running.server.submit(commands);
        }
        numbers
    }

    pub(super) fn read(&mut self) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let stale = self.options.has(Bug::StaleRead) && self.dice.roll(2) == 0;
        let state = if stale {
            &running.stale
        } else {
            &running.server.state
        };
        let key = workload::any_key(&mut self.dice);
        let mut found = state.get(&key).cloned();
        if let (true, Some(found), Some(older)) = (
            self.options.has(Bug::ReadShowsOlder),
            &mut found,
            running.stale.get(&key),
        ) {
            *found = with_contents_of(found, older);
        }
        let revision = state.revision;
        let version = found.as_ref().map(|one| (&one.meta.uid, one.revision));
        self.trace
            .note("read", format_args!("{key} at {revision}: {version:?}"));
        let refused = self.disk.inner().refused;
        let newest = running.server.reader.newest();
        let at = self.clients.tick();
        self.clients.reads.push(Read {
            at,
            revision,
            key,
            found,
        });
        match newest {
            Ok(newest) => self.check_visible(newest, "a reader of the log")?,
            Err(error) => self.check_read_error(&error, refused)?,
        }
        self.read_past()
    }

    /// Reads a past state while the server runs, and checks that it is as it was published.
    fn read_past(&mut self) -> Checked {
        let Some(running) = self.running.as_ref().filter(|_| self.dice.roll(4) == 0) else {
            return Ok(());
        };
        let revisions: Vec<Revision> = self.history.published().collect();
        let refused = self.disk.inner().refused;
        let mut shown = self.dice.pick(&revisions);
        let mut revision = shown;
        if let Some((from, at)) = self.history.log.restores.last()
            && self.dice.roll(4) == 0
        {
            // No commit has this revision, which the restore skipped: the state is the backup's.
            (shown, revision) = (*from, at.previous());
        }
        let reader = &running.server.reader;
        match reader.state_at(empty(), revision) {
            Err(Error::Pruned(Pruned { floor, .. })) => {
                self.trace.note("look back beyond the floor", revision);
                check::replay::check_pruned(reader, revision, floor)
            }
            Ok(state) => {
                self.trace.note("look back", revision);
                check::replay::check_as_published(&self.history, &state, shown)
            }
            Err(error) => self.check_read_error(&error, refused),
        }
    }

    pub(super) fn decide(&mut self) {
        if self
            .running
            .as_mut()
            .is_some_and(|running| running.server.decide())
        {
            self.trace.note("decide", "");
        }
    }

    pub(super) fn sync(&mut self) -> Checked {
        if self.slow > 0 {
            self.slow -= 1;
            return Ok(());
        }
        let before = self.disk.inner().live.len();
        if self
            .running
            .as_mut()
            .is_some_and(|running| running.server.sync())
        {
            self.trace.note("sync", "");
        }
        if self.disk.inner().live.len() > before + 1 {
            self.trace.count("several frames", 1);
        }
        self.deliver()
    }

    pub(super) fn collect(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        let limit = self.options.collected_at_once;
        let bytes_max = self.dice.pick(&PART_BYTES);
        let Turn { parts, what } = running.collecting.turn(Time(self.clock), limit, bytes_max);
        if parts.iter().all(Vec::is_empty) {
            return;
        }
        self.trace.count(what, 1);
        let numbers = parts.map(|part| {
            let steps = part.into_iter();
            let intents: Vec<_> = steps.map(|step| (step.intent, step.cause)).collect();
            if intents.is_empty() {
                return Vec::new();
            }
            self.send(None, intents)
        });
        if let Some(running) = &mut self.running {
            running.collecting.note_submitted(numbers);
        }
    }

    pub(super) fn watch(&mut self) -> Checked {
        let index = usize::try_from(self.dice.roll(self.options.watchers as u64)).expect("small");
        self.watch_turn(index)
    }

    pub(super) fn watch_turn(&mut self, index: usize) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let refused = self.disk.inner().refused;
        let watcher = &mut self.watchers[index];
        let before = watcher.position;
        let outcome = watcher.turn(&running.server, &mut self.dice);
        let position = watcher.position.unwrap_or_default();
        let restored = running.server.restored;
        let expired = before.is_some_and(|before| before < restored) && position >= restored;
        if expired {
            self.trace.count("expired", 1);
        }
        self.trace
            .note("watch", format_args!("{index} is at {position}"));
        outcome.or_else(|error| self.check_read_error(&error, refused))?;
        self.check_visible(position, "a watch")
    }
}

const fn who(client: Option<usize>) -> &'static str {
    if client.is_some() {
        "request"
    } else {
        "collect"
    }
}

fn command(number: u64, clock: i64, intent: Intent, cause: Cause) -> Command {
    let request = Request {
        uri: number.to_string(),
        ..Request::default()
    };
    Command {
        time: Time(clock),
        request: Arc::new(request),
        ..world::command(number, intent, cause)
    }
}
