//! Backups of the log, and restores from them. As an operator would, a restore first stops the
//! server, and puts the new log in place of the old one only once it is whole.

use super::check::{self, Checked, ensure};
use super::disk::{Disk, Fault, Room};
use super::history::LogContents;
use super::{Bug, Simulation};
use crate::dice::Dice;
use hindsight_core::{Revision, Time};
use hindsight_log::{DEFAULT_BUMP, Error, Restore, Restored, Snapshots, Storage, copy_backup};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

/// A backup file, and the part of the history that is in it.
#[derive(Debug, Clone)]
pub struct Backup {
    /// The file.
    pub bytes: Vec<u8>,
    /// What was in the log at that time.
    pub kept: LogContents,
}

impl Simulation {
    /// Makes a backup while the server runs.
    pub(super) fn back_up(&mut self) -> Checked {
        let Some(running) = &self.running else {
            return Ok(());
        };
        let refused = self.disk.inner().refused;
        let mut bytes = Vec::new();
        let reader = &running.server.reader;
        match reader.backup(self.restoring_clock(), &mut bytes, |_, _| {}) {
            Ok(made) => {
                let (kept, ends) = (self.history.now(), made.tail.revision);
                self.trace.note("backup", ends);
                ensure(
                    "a backup holds what was answered",
                    ends == kept.revision,
                    || format!("it ends at {ends}, and {} was visible", kept.revision),
                )?;
                self.backup = Some(Backup { bytes, kept });
                Ok(())
            }
            Err(error) => {
                self.trace.note("backup failed", &error);
                check_refused(&bytes)?;
                self.check_read_error(&error, refused)
            }
        }
    }

    /// Restores the last backup, perhaps a damaged copy of it; if that fails nothing changes.
    pub(super) fn restore(&mut self) -> Checked {
        let Some(Backup { mut bytes, kept }) = self.backup.clone() else {
            return Ok(());
        };
        if self.running.is_some() {
            self.kill();
        }
        let disk = Arc::new(self.new_disk());
        let is_broken = self.dice.roll(6) == 0 && flip(&mut self.dice, &mut bytes);
        match self.fill_from(&disk, &bytes, kept.revision) {
            Ok(restored) => {
                ensure("a broken backup is refused", !is_broken, || {
                    format!("{restored:?}")
                })?;
                self.restored(disk, &kept, restored.revision)
            }
            Err(error) => {
                self.trace.note("restore failed", &error);
                let disk = disk.inner();
                let explained = is_broken || disk.refused > 0 || disk.room != Room::Plenty;
                ensure("a whole backup is restored", explained, || {
                    error.to_string()
                })
            }
        }
    }

    /// A new disk, on which a fault may be armed.
    fn new_disk(&mut self) -> Disk {
        let dice = Dice(self.dice.roll(u64::MAX));
        let disk = Disk::new(dice, self.options.has(Bug::SyncDoesNothing));
        let mut inner = disk.inner();
        inner.ignores_notes = self.options.has(Bug::NoteLags);
        let writes = self.dice.roll(8);
        match self.dice.roll(12) {
            0 => inner.armed = Some((writes, Fault::PowerCut)),
            1 => inner.armed = Some((writes, Fault::Refused)),
            2 => inner.room = Room::Nothing,
            3 => inner.unreadable = Some(writes),
            _ => {}
        }
        drop(inner);
        disk
    }

    /// Fills a disk from a backup as `hindsight restore` does. The clock jumps, and bumps differ, so the bump is
    /// larger than what was written since the backup, and reaches from the clock beyond all that was given out.
    fn fill_from(
        &mut self,
        disk: &Arc<Disk>,
        bytes: &[u8],
        from: Revision,
    ) -> Result<Restored, Error> {
        let newest = self.history.newest().0;
        let written = newest - from.0;
        let ahead = newest.saturating_sub(self.clock.unsigned_abs());
        let more = self.dice.roll(1_000);
        let bump = written.max(ahead) + self.dice.pick(&[1, more + 1, DEFAULT_BUMP.get()]);
        let bump = if self.options.has(Bug::RestoreRepeats) {
            1
        } else {
            bump
        };
        let storage = Arc::<Disk>::clone(disk) as Arc<dyn Storage>;
        let restore = Restore {
            storage: &storage,
            // There are no snapshots: no file has an empty path.
            snapshots: &Snapshots::at(PathBuf::new()),
            bump: NonZeroU64::new(bump).expect("not zero"),
            time: self.restoring_clock(),
        };
        restore.run(bytes, |_| {})
    }

    /// The clock of backups and restores. A restore also skips the time that has passed; without it, only the
    /// bump keeps revisions apart.
    fn restoring_clock(&self) -> Time {
        if self.options.has(Bug::RestoreRepeats) {
            return Time(0);
        }
        Time(self.clock)
    }

    /// Replaces the log by the restored one: what was written after the backup is gone, as intended.
    fn restored(&mut self, disk: Arc<Disk>, kept: &LogContents, revision: Revision) -> Checked {
        let newest = self.history.newest();
        self.trace
            .note("restore", format_args!("{} at {revision}", kept.revision));
        ensure("no revision is given out twice", revision > newest, || {
            format!("they go on after {revision}, and {newest} was given out")
        })?;
        check::of_the_log(&self.history, &self.clients)?;
        self.history.restore(kept, revision);
        disk.clear_faults();
        self.disk = disk;
        self.snapshots.clear();
        Ok(())
    }
}

/// Checks that a damaged or incomplete backup is refused.
pub fn check_refused(bytes: &[u8]) -> Checked {
    let copied = copy_backup(bytes, std::io::sink(), |_, _| {});
    ensure("a broken backup is refused", copied.is_err(), || {
        format!("{copied:?}")
    })
}

/// Flips one bit; false if there is none.
fn flip(dice: &mut Dice, bytes: &mut [u8]) -> bool {
    let bit = usize::try_from(dice.roll((bytes.len() as u64 * 8).max(1))).expect("small");
    let byte = bytes.get_mut(bit / 8);
    byte.map(|byte| *byte ^= 1 << (bit % 8)).is_some()
}
