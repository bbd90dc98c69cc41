//! Starts and ends the process, and delivers what its writer publishes and answers.

use super::check::{self, Checked, ensure, violation};
use super::collecting::Collecting;
use super::server::{Answer, Server};
use super::{Bug, Running, Simulation};
use hindsight_core::Revision;

impl Simulation {
    /// Starts the process: it reads the log and goes on from it, or refuses and changes nothing.
    pub(super) fn start(&mut self) -> Checked {
        let refused = self.disk.inner().refused;
        let base = self.base();
        let read_from = base.state.revision.next();
        let opened = Server::open(&self.disk, base, &self.options);
        let unreadable = self.disk.inner().refused > refused;
        self.disk.inner().unreadable = None;
        match opened {
            Ok(server) => self.started(server, read_from),
            Err(error) => {
                self.trace.note("refusal to open", &error);
                let (power_failed, sync_failed) = self.disk.failures();
                if power_failed || sync_failed {
                    self.trace.count("failure while opening", 1);
                    self.cut_power();
                }
                let explained = unreadable || self.disk.is_damaged();
                ensure("a sound log opens", explained, || error.to_string())
            }
        }
    }

    fn started(&mut self, server: Server, read_from: Revision) -> Checked {
        let before = self.history.newest();
        check::durability::recovered(&mut self.history, &self.clients, &server.reader, read_from)?;
        let recovered = self.history.newest();
        let state = server.state.clone();
        check::durability::same_end(&state, recovered)?;
        self.history.note_state(&state)?;
        let ahead = self
            .watchers
            .iter()
            .find(|one| one.position > Some(state.revision));
        if let Some(ahead) = ahead {
            let what = format!(
                "a watch is at {:?}, the log ends at {recovered}",
                ahead.position
            );
            return Err(violation("watch: resumable", what));
        }
        self.trace.note(
            "start",
            format_args!("at {recovered}, {before} was visible"),
        );
        self.running = Some(Running {
            collecting: Collecting::new(&state, &server.reader, self.options.bug),
            stale: state,
            server,
            poisoned: false,
            refused: self.disk.inner().refused_writes,
        });
        self.watchers
            .iter_mut()
            .for_each(super::watchers::Watcher::disconnect);
        Ok(())
    }

    /// Kills the process; its memory is lost.
    pub(super) fn kill(&mut self) {
        self.running = None;
        self.clients.forget_pending();
        let (power_failed, sync_failed) = self.disk.failures();
        if power_failed || sync_failed {
            // The power failed before; or a sync was refused, and the cache may show what the disk
            // does not have, so it is dropped as in a power cut.
            self.cut_power();
            return;
        }
        self.disk.kill();
        self.trace.note("kill", "");
    }

    /// Cuts the power; what was not synced may be lost.
    pub(super) fn cut_power(&mut self) {
        self.running = None;
        self.clients.forget_pending();
        let loses = self.options.has(Bug::SyncedFrameLost);
        let what = self.disk.cut_power(self.options.faults, loses);
        self.trace.note(what, "");
    }

    /// Delivers what the writer published, then its answers.
    pub(super) fn deliver(&mut self) -> Checked {
        if self.disk.inner().power_failed {
            self.cut_power();
            return Ok(());
        }
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        let before = running.server.state.clone();
        for (state, changes) in running.server.take_published() {
            for change in &changes {
                self.history.push_change(change)?;
            }
            self.history.note_state(&state)?;
            running.stale = before.clone();
            running.collecting.observe((state, changes));
        }
        let newest = running.server.state.revision;
        for (number, mut answer) in running.server.take_answers() {
            if self.options.has(Bug::AnswerShowsOlder) {
                answer.show_older(&before);
            }
            running.poisoned |= matches!(answer, Answer::Unknown);
            let explained = !running.poisoned || self.disk.inner().refused_writes > running.refused;
            ensure("the writer fails with its disk", explained, || {
                format!("command {number} is not answered")
            })?;
            let is_collector = running.collecting.note_answer(number, &answer);
            if matches!(answer, Answer::Overloaded | Answer::NoRoom) {
                self.trace.count(turned_away(is_collector), 1);
            }
            self.clients.answer(number, answer, newest);
            let operation = &self.clients.operations[&number];
            check::durability::answered(&self.history, operation)?;
            if self.trace.is_verbose {
                self.trace.line(describe(operation));
            }
        }
        Ok(())
    }

    /// Checks that a reader sees nothing beyond what is published.
    pub(super) fn check_visible(&self, revision: Revision, reader: &str) -> Checked {
        let newest = self.history.newest();
        ensure("durable before visible", revision <= newest, || {
            format!("{reader} saw {revision} while {newest} was published")
        })
    }
}

const fn turned_away(is_collector: bool) -> &'static str {
    if is_collector {
        "collector turned away"
    } else {
        "client turned away"
    }
}

fn describe(operation: &super::clients::Operation) -> String {
    let number = operation.number;
    match (operation.done(), operation.refused()) {
        (Some((_, _, decision)), _) => {
            let wrote: Vec<u64> = decision.commits.iter().map(|one| one.revision.0).collect();
            format!("  answer {number}: done {wrote:?}")
        }
        (None, Some((_, rejection))) => format!("  answer {number}: {rejection}"),
        (None, None) => format!("  answer {number}: {:?}", operation.end),
    }
}
