//! `hindsight backup`: copies the log to one file while it may be written to.

use super::ask::Source;
use super::signal_guard::SignalGuard;
use super::{Directory, Output, show};
use crate::answer::BACKUP_PATH;
use crate::data_dir::DataDir;
use crate::hint::hint;
use crate::named_file::unwritten;
use crate::{effects, named_file};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use hindsight_log::{Backup as Made, Error, WholeFile, copy_backup};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const EXAMPLES: &str = "\
Examples:
  hindsight backup monday.backup
  hindsight backup - | ssh elsewhere 'umask 077; cat > monday.backup'
  hindsight backup --force latest.backup --data-dir /var/lib/hindsight
  hindsight backup --intact rest.backup     the intact part of a damaged log

A running server is not interrupted; the backup ends at the revision that was
durable when it began. It contains every Secret. Only its owner can read FILE;
if you redirect standard output to a file, run `umask 077` first. `hindsight
restore` makes a log of it again. Certificates (pki) and the token file are not
included.";

/// The size of the output buffer: entries are small.
const BUFFER_BYTES: usize = 1 << 20;
const UNFINISHED: &str = "unfinished";
/// How often a backup is attempted: it begins anew when retention drops history that it has yet to copy.
const ATTEMPTS_MAX: usize = 4;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Backup {
    #[command(flatten)]
    pub(super) directory: Directory,
    /// File to write; - for standard output
    file: PathBuf,
    /// Replace an existing file; only a regular file is replaced
    #[arg(long)]
    force: bool,
    /// Back up a damaged log up to its first unreadable record; the log's files are not changed
    #[arg(long)]
    intact: bool,
    /// Output format of the summary
    #[arg(long, short, default_value = "text")]
    output: Output,
}

impl Backup {
    pub(super) fn run(self) -> Result<ExitCode> {
        if self.file == Path::new("-") {
            let out = io::stdout();
            if out.is_terminal() {
                bail!(
                    "a backup is binary and standard output is a terminal; name a file, or pipe it somewhere"
                );
            }
            let made = self.write(out.lock(), "standard output")?;
            let summary = self.summary(&made);
            match self.output {
                Output::Text => hint(&summary),
                Output::Json => {
                    writeln!(io::stderr().lock(), "{summary}").ok();
                }
            }
            return Ok(ExitCode::SUCCESS);
        }
        let name = self.file.display().to_string();
        let found = self.file.metadata();
        if found.is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            bail!("{name} is not a regular file; name another, or use - for standard output");
        }
        let place = named_file::place(&self.file, &name)?;
        named_file::check_apart(&place, &name, DataDir(&self.directory.data_dir))?;
        if place.exists() && !self.force {
            bail!("{name} already exists; name another file, or replace it with --force");
        }
        let unfinished = Unfinished::watched(WholeFile::unfinished(&place, UNFINISHED), &name)?;
        let made = unless_overtaken(|| self.write_file(&place, &name, &unfinished))?;
        show::print_line(&self.summary(&made))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes under another name until the file is whole and synced.
    fn write_file(&self, place: &Path, name: &str, unfinished: &Unfinished) -> Result<Made> {
        let begun = unfinished.begin(place, self.force);
        let file = begun.map_err(unwritten(name))?;
        match self.write_synced(file.file(), name) {
            Ok(made) => {
                let finished = unfinished.end(|| {
                    if self.force {
                        file.finish()
                    } else {
                        file.finish_new()
                    }
                });
                finished.map_err(|error| not_named(error, place, name))?;
                Ok(made)
            }
            Err(error) => {
                unfinished.end(|| drop(file));
                Err(error)
            }
        }
    }

    /// Writes the backup and syncs it, which may take long, while a signal still ends it: the file gets its name
    /// where none does.
    fn write_synced(&self, file: &File, name: &str) -> Result<Made> {
        let made = self.write(file, name)?;
        let synced = file.sync_all();
        synced.map_err(unwritten(name))?;
        Ok(made)
    }

    /// Writes the backup. An error of the output is reported as one of the output; the log's own words would be
    /// about its disk.
    fn write(&self, to: impl Write, name: &str) -> Result<Made> {
        let mut refused = None;
        let recorder = ErrorRecorder {
            to,
            refused: &mut refused,
        };
        let to = BufWriter::with_capacity(BUFFER_BYTES, recorder);
        let source = if self.intact {
            self.directory.intact()?
        } else {
            self.directory.source()?
        };
        let bar = show::counting("frame");
        let progress = |_, _| bar.inc(1);
        let made = match source {
            Source::Directory { reader, .. } => reader.backup(effects::now(), to, progress),
            Source::Server(client) => copy_backup(client.download(BACKUP_PATH)?, to, progress),
        };
        bar.finish_and_clear();
        if let Some(refused) = refused {
            return Err(unwritten(name)(refused));
        }
        made.map_err(not_made)
    }

    fn summary(&self, made: &Made) -> String {
        let (revision, chain) = (made.tail.revision, made.chain());
        let (frames, bytes) = (made.frames, made.bytes);
        if self.output == Output::Json {
            let document = json!({"revision": revision, "frames": frames, "bytes": bytes,
                "chain": chain, "content": made.content()});
            return format!("{document:#}");
        }
        let frames = show::counted(frames, "frame");
        format!("revision {revision}, {frames}, {bytes} bytes, chain {chain}")
    }
}

/// The error of a backup that was not made, though nothing hindered its file.
fn not_made(error: Error) -> anyhow::Error {
    match error {
        // What the server did is in words of its own; the log's advice would be about a disk.
        Error::Io { source, .. } | Error::Read { source, .. } if source.get_ref().is_some() => {
            source.into()
        }
        // There is none yet.
        Error::Backup(reason) => anyhow!("the server could not make the backup: {reason}"),
        error => error.into(),
    }
}

/// The error of a finished backup that did not get its name.
fn not_named(error: io::Error, place: &Path, name: &str) -> anyhow::Error {
    if error.kind() != io::ErrorKind::AlreadyExists {
        return unwritten(name)(error);
    }
    anyhow!(
        "{name} appeared while the backup was being made, and is not replaced; the backup is whole and is in {}: \
         give it another name",
        WholeFile::unfinished(place, UNFINISHED).display()
    )
}

/// The file that is being written, which is removed if a signal ends the process. Until it is begun, and once
/// it is finished, what has its name is somebody else's.
struct Unfinished {
    is_ours: Arc<AtomicBool>,
    guard: SignalGuard,
}

impl Unfinished {
    fn watched(path: PathBuf, name: &str) -> Result<Self> {
        let (is_ours, name) = (Arc::new(AtomicBool::new(false)), name.to_owned());
        let is_begun = Arc::clone(&is_ours);
        let guard = SignalGuard::after(move || {
            if is_begun.load(Ordering::SeqCst) && std::fs::remove_file(path).is_ok() {
                hint(&format!(
                    "interrupted before the backup was complete: {name} was not written"
                ));
            }
        });
        let guard = guard.context("waiting for signals")?;
        Ok(Self { is_ours, guard })
    }

    /// A backup that was whole when its process was killed is one like any other: it goes only by force.
    fn begin(&self, place: &Path, force: bool) -> io::Result<WholeFile> {
        let is_leftover = if force {
            Made::is_begun
        } else {
            Made::is_leftover
        };
        self.guard.unless_signalled(|| {
            let begun = WholeFile::begin_over(place, UNFINISHED, is_leftover);
            self.is_ours.store(begun.is_ok(), Ordering::SeqCst);
            begun
        })
    }

    /// Runs what finishes or removes the file.
    fn end<T>(&self, end: impl FnOnce() -> T) -> T {
        self.guard.unless_signalled(|| {
            let ended = end();
            self.is_ours.store(false, Ordering::SeqCst);
            ended
        })
    }
}

/// Makes a backup, and makes it again if history was dropped that it had yet to copy.
fn unless_overtaken<T>(mut make: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS_MAX {
        match make() {
            Err(error) if is_overtaken(&error) => {
                hint("history was dropped while the backup was being made; starting over");
            }
            made => return made,
        }
    }
    make()
}

fn is_overtaken(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Overtaken { .. }))
}

/// An output that remembers why it refused a write.
struct ErrorRecorder<'a, W> {
    to: W,
    refused: &'a mut Option<io::Error>,
}

impl<W> ErrorRecorder<'_, W> {
    fn record<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            let code = error.raw_os_error();
            let same = code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
            *self.refused = Some(same);
        }
        result
    }
}

impl<W: Write> Write for ErrorRecorder<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.record(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.record(flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ControlPlane};
    use hindsight_core::Revision;

    fn overtaken() -> anyhow::Error {
        let floor = Revision(7);
        Error::Overtaken { floor }.into()
    }

    /// The result after this many attempts that were overtaken, and how many attempts there were.
    fn after(overtaken_times: usize, last: fn() -> Result<()>) -> (Result<()>, usize) {
        let mut made = 0;
        let result = unless_overtaken(|| {
            made += 1;
            if made <= overtaken_times {
                return Err(overtaken());
            }
            last()
        });
        (result, made)
    }

    /// A full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_hinders_a_file_is_told_with_what_to_do() {
        let temporary = tempfile::tempdir().expect("a directory");
        let data_dir = temporary.path().join("data");
        let config = Config {
            data_dir: Some(data_dir.clone()),
            ..Config::default()
        };
        ControlPlane::open(config).expect("it opens").close();
        let backup = Backup {
            directory: Directory { data_dir },
            file: temporary.path().join("missing/file"),
            force: false,
            intact: false,
            output: Output::Text,
        };
        let place = temporary.path().join("file");
        let read_only = io::ErrorKind::ReadOnlyFilesystem.into();
        for (refused, advice) in [
            (backup.write(Full, "file").map(drop), "free some disk space"),
            (
                Err(not_named(read_only, &place, "file")),
                "make it writable",
            ),
            (backup.run().map(drop), "create the directory"),
        ] {
            let told = refused.expect_err(advice).to_string();
            assert!(told.contains("file cannot be written; "), "{told}");
            assert!(told.contains(advice), "{told}");
        }
    }

    #[test]
    fn a_backup_that_a_server_does_not_finish_is_none_that_is_bad() {
        let cut = copy_backup(&b""[..], io::sink(), |_, _| {}).expect_err("it has no end");
        assert!(cut.to_string().contains("use another backup"), "{cut}");
        let told = not_made(cut).to_string();
        let begins = "the server could not make the backup: ";
        assert!(told.starts_with(begins), "{told}");
        assert!(!told.contains("use another backup"), "{told}");
    }

    #[test]
    fn a_backup_that_is_overtaken_is_made_again_and_at_last_says_why() {
        for times in 0..ATTEMPTS_MAX {
            let (result, made) = after(times, || Ok(()));
            assert!(result.is_ok() && made == times + 1, "{result:?} {made}");
        }
        let (result, made) = after(usize::MAX, || Ok(()));
        let error = result.expect_err("it does not end otherwise");
        assert!(error.to_string().contains("was dropped"), "{error}");
        assert_eq!(made, ATTEMPTS_MAX);
        let (result, made) = after(1, || bail!("the disk is full"));
        assert!(result.is_err() && made == 2, "{result:?} {made}");
    }
}
