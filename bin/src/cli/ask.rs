//! Where a question is answered: on the data directory itself, or by the server that holds it.

use super::point::Point;
use super::{Directory, advice, show};
use crate::OpenError;
use crate::data_dir::DataDir;
use crate::hint::hint;
use crate::inspect::{self, QueryError};
use crate::lock_wait::RETRY_PAUSE;
use crate::opening::empty_state;
use crate::opening::{self, Unchecked};
use crate::remote::Client;
use crate::shell;
use anyhow::{Context as _, Result, anyhow, bail};
use hindsight_core::{FutureRevision, Revision, State};
use hindsight_log::{BACKUP_MAGIC, DirectoryLock, Error, Intact, Reader, SledStorage};
use indicatif::ProgressBar;
use serde_json::Value;
use std::cell::OnceCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait for a process that holds the directory and does not serve: another question, or a server
/// that is starting or ending.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// Precedes the address of a server in the lock.
const SERVES_AT: &str = " at https://";

/// Where answers come from.
pub(super) enum Source {
    /// The directory, which no other process holds.
    Directory {
        /// Before the lock: the log is closed before the directory is given back.
        reader: Reader,
        /// `None` if there is no lock file, and none can be written.
        _lock: Option<DirectoryLock>,
    },
    /// The server that holds the directory.
    Server(Client),
}

impl Source {
    /// The newest revision.
    pub(super) fn newest(&self) -> Result<Revision> {
        match self {
            Self::Directory { reader, .. } => Ok(reader.newest()?),
            Self::Server(client) => {
                // Any list has it, and a short one is the cheapest.
                let list: Value = client.ask("/api/v1/namespaces?limit=1")?;
                let revision = list.pointer("/metadata/resourceVersion");
                let revision = revision.and_then(Value::as_str).and_then(Revision::parse);
                revision.context("the server's list has no revision")
            }
        }
    }
}

/// What came of taking a data directory.
pub(super) enum Taken<T> {
    /// It is ours, with what was opened in it.
    Ours(T),
    /// A server holds it, and can be asked instead.
    Served(Client),
}

impl Directory {
    /// The source to answer from. A log that a start would refuse is refused here, too.
    pub(super) fn source(&self) -> Result<Source> {
        let source = self.source_without_end_check()?;
        if let Source::Directory { reader, .. } = &source {
            let witnessed = reader.check_end()?;
            let newest = reader.newest()?;
            if witnessed.is_none() && newest > Revision::ZERO {
                hint(&format!("the end of the log {}", show::unconfirmed(newest)));
            }
        }
        Ok(source)
    }

    /// The same without a check of the log's end, for commands that read all of the log.
    pub(super) fn source_without_end_check(&self) -> Result<Source> {
        self.check()?;
        let bar = Bar::default();
        let progress = |done| bar.show(done);
        let taken = self.take(|directory| Unchecked::open(directory, &progress));
        bar.end();
        let found = match taken? {
            Taken::Ours(found) => found,
            Taken::Served(client) => return Ok(Source::Server(client)),
        };
        if let Some(extent) = found.extent {
            hint(&format!("the log is {extent}"));
        }
        Ok(Source::Directory {
            reader: found.reader,
            _lock: found.lock,
        })
    }

    /// The records before the first damaged one, read without the storage engine and so even if that cannot
    /// open the log.
    pub(super) fn intact(&self) -> Result<Source> {
        let checked = self.check();
        // What is left may be in the journal.
        let refused = match checked {
            Err(error) if is_without_database(&error) => Some(error),
            checked => checked.map(|()| None)?,
        };
        let acquire = |directory: &Path| {
            let lock = DirectoryLock::acquire(directory)?;
            // Somebody may have removed the lock of a process that still writes.
            SledStorage::check_free(&DataDir(lock.directory()).events())?;
            Ok(Some(lock))
        };
        let taken = match self.take(acquire) {
            Err(error) if is_read_only(&error) => self.take(DirectoryLock::acquire_to_read)?,
            taken => taken?,
        };
        let Taken::Ours(lock) = taken else {
            let directory = self.data_dir.display();
            bail!("a server is using {directory}; stop it first, or leave --intact out");
        };
        let locked = lock.as_ref().map(DirectoryLock::directory);
        let found = read_intact(locked.unwrap_or(&self.data_dir))?;
        let is_empty = found.reader.newest()? == Revision::ZERO;
        if let Some(refused) = refused.filter(|_| is_empty) {
            return Err(refused);
        }
        hint(&format!("the log is {}", found.extent()));
        if is_empty {
            bail!(
                "nothing of the log in {} is intact, so no backup was written; put its files back if they were moved, \
                 or restore an earlier backup",
                self.data_dir.display()
            );
        }
        found.check_state()?;
        Ok(Source::Directory {
            reader: found.reader,
            _lock: lock,
        })
    }

    /// The error as it is told: with how far the log is intact if the storage engine could not read it, or, before the
    /// error, if a newer release wrote to it; and with advice about this directory.
    pub(super) fn told(&self, error: anyhow::Error) -> anyhow::Error {
        if let Some(extent) = self.extent_of_newer(&error) {
            hint(&format!("the log is {extent}"));
        }
        let events = DataDir(&self.data_dir).events();
        let told =
            log_error(&error).and_then(|error| SledStorage::explain_unreadable(&events, error));
        advice::on_damage(told.map_or(error, Into::into), &self.option())
    }

    /// What this release can tell of a log that a newer release wrote to. Where a backup was to be restored there is none.
    fn extent_of_newer(&self, error: &anyhow::Error) -> Option<String> {
        let is_newer = matches!(log_error(error), Some(Error::NewerFormat { .. }));
        let is_of_log = is_newer && opening::has_log(&self.data_dir).unwrap_or(true);
        let data = DataDir(&self.data_dir);
        let found = is_of_log.then(|| Intact::of(&data.events(), |_, _| {}).ok());
        Some(found.flatten()?.beside(&data.snapshots()).extent())
    }

    /// Refuses a file. A backup is often taken for what it is restored into.
    pub(super) fn check_no_file(&self) -> Result<()> {
        let path = &self.data_dir;
        if !path.is_file() {
            return Ok(());
        }
        let name = path.display();
        if is_backup(path) {
            let backup = path.to_string_lossy();
            let backup = shell::word(&backup);
            bail!(
                "{name} is a backup; restore it first: hindsight restore {backup} --data-dir NEW"
            );
        }
        bail!("{name} is a file, not a directory; give the directory of a log")
    }

    fn check(&self) -> Result<()> {
        self.check_no_file()?;
        opening::check_log(&self.data_dir).map_err(|error| match error {
            OpenError::NoLog(directory) => anyhow!(
                "{} contains no event log; give the --data-dir that `hindsight serve` uses, or set HINDSIGHT_DATA_DIR",
                directory.display()
            ),
            OpenError::Log(error) => error.into(),
            other => other.into(),
        })
    }

    /// The server that holds the directory, or held it last.
    pub(super) fn last_server(&self) -> Option<Client> {
        self.server_of(&DirectoryLock::holder(&self.data_dir)?)
    }

    fn server_of(&self, holder: &str) -> Option<Client> {
        let (process, address) = holder.rsplit_once(SERVES_AT)?;
        Some(Client::new(&self.data_dir, process, address))
    }

    /// Takes the directory, or finds the server that holds it.
    pub(super) fn take<T>(&self, take: impl Fn(&Path) -> Result<T, Error>) -> Result<Taken<T>> {
        let ends = Instant::now() + WAIT_MAX;
        loop {
            match take(&self.data_dir) {
                Ok(taken) => return Ok(Taken::Ours(taken)),
                Err(Error::Locked { holder, directory }) => {
                    let is_over = Instant::now() >= ends;
                    match self.server_of(&holder) {
                        Some(client) if is_over || !client.is_gone() => {
                            return Ok(Taken::Served(client));
                        }
                        None if is_over => {
                            let holder = unasked(&holder);
                            return Err(Error::Locked { directory, holder }.into());
                        }
                        Some(_) | None => std::thread::sleep(RETRY_PAUSE),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads a log without the engine, with a progress bar.
fn read_intact(directory: &Path) -> Result<Intact, Error> {
    let bar = Bar::default();
    let found = opening::intact(directory, &|done| bar.show(done));
    bar.end();
    found
}

fn is_backup(path: &Path) -> bool {
    let mut begin = [0; BACKUP_MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == BACKUP_MAGIC
}

/// What is told of a holder that has no address.
fn unasked(holder: &str) -> String {
    format!(
        "{holder}, which answers no questions (a server that is starting soon does: ask again then; a program that \
         embeds Hindsight has methods for them)"
    )
}

/// Shows how much of a database was read, once something is.
#[derive(Default)]
struct Bar(OnceCell<ProgressBar>);

impl Bar {
    fn show(&self, done: u64) {
        let bar = self
            .0
            .get_or_init(|| show::counting("byte").with_message(" of the database read"));
        bar.set_position(done);
    }

    fn end(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}

/// Whether the error says that nothing can be written where the log is.
pub(super) fn is_read_only(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::ReadOnly(_)))
}

/// Whether this is an error of what is beside the place of a database. That is examined only if there is no database.
fn is_without_database(error: &anyhow::Error) -> bool {
    let is_beside = |error: &Error| {
        !matches!(
            error,
            Error::Foreign(_)
                | Error::UnfinishedRestore(_)
                | Error::Io { .. }
                | Error::Denied { .. }
        )
    };
    log_error(error).is_some_and(is_beside)
}

/// The error of the log, if it is one.
fn log_error(error: &anyhow::Error) -> Option<&Error> {
    if let Some(OpenError::Log(error)) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(QueryError::Log(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.downcast_ref()
}

/// A state that knows all kinds of this name: custom ones may share that of a built-in one.
pub(super) fn state_with(reader: &Reader, kind: Option<&str>) -> Result<State> {
    kind.map_or_else(|| Ok(empty_state()), |_| newest_state(reader))
}

/// The state at a point, which must not lie ahead; the newest state without a point.
pub(super) fn state_of(reader: &Reader, point: Option<&Point>) -> Result<State> {
    let Some(point) = point else {
        return newest_state(reader);
    };
    Ok(inspect::state_at(reader, empty_state(), point.at)?)
}

/// Refuses a revision that lies ahead: the newest state would pass for that of then.
pub(super) fn check_has_happened(reader: &Reader, asked: Revision) -> Result<()> {
    let newest = reader.newest()?;
    if asked > newest {
        return Err(Error::Future(FutureRevision { asked, newest }).into());
    }
    Ok(())
}

/// The newest state of the log.
pub(super) fn newest_state(reader: &Reader) -> Result<State> {
    Ok(reader.newest_state(empty_state())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ControlPlane};
    use std::fs;

    /// Up to where `backup --intact` would save this log.
    fn saved(directory: &Path) -> Result<Revision> {
        let data_dir = directory.to_owned();
        Directory { data_dir }.intact()?.newest()
    }

    #[test]
    fn what_a_newer_release_wrote_is_told_of_a_log_and_not_of_a_backup() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data_dir = temporary.path().to_owned();
        let directory = Directory { data_dir };
        let told = || {
            let newer = Error::NewerFormat {
                found: 9,
                known: 4,
                revision: None,
            };
            directory.extent_of_newer(&newer.into())
        };
        assert_eq!(told(), None);
        let config = Config {
            data_dir: Some(directory.data_dir.clone()),
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
        let extent = told().expect("there is a log");
        assert!(extent.starts_with("intact up to revision "), "{extent}");
    }

    #[test]
    fn what_the_journal_has_is_saved_where_the_database_is_gone() {
        let temporary = tempfile::tempdir().expect("a directory");
        let directory = temporary.path();
        let config = Config {
            data_dir: Some(directory.to_owned()),
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
        let whole = saved(directory).expect("it is intact");
        let events = DataDir(directory).events();
        let [database, journal] = ["db", "journal"].map(|name| events.join(name));
        fs::remove_file(&database).expect("removed");
        assert_eq!(saved(directory).expect("the journal has all"), whole);
        let nowhere = directory.join("unmounted/db");
        std::os::unix::fs::symlink(nowhere, &database).expect("linked");
        assert_eq!(saved(directory).expect("the journal has all"), whole);
        let [tail, aside] = ["events.tail", "aside"].map(|name| directory.join(name));
        fs::rename(&tail, &aside).expect("moved");
        assert_eq!(saved(directory).expect("the journal has all"), whole);
        fs::rename(&aside, &tail).expect("moved back");
        fs::remove_file(&journal).expect("removed");
        let told = saved(directory).expect_err("nothing is left").to_string();
        assert!(
            told.contains("db is missing: the log ends at revision 0"),
            "{told}"
        );
        fs::remove_file(tail).expect("removed");
        let told = saved(directory).expect_err("nothing is left").to_string();
        assert!(told.contains("db is a link that leads nowhere"), "{told}");
    }
}
