//! Examines a directory before sled opens it. sled overwrites with blanks whatever it cannot read in its
//! database: the file of another program, or all that a single flipped bit keeps it from reading.

use super::values::{HEADER_BYTES, SegmentHeader};
use super::{SEGMENT_BYTES, journal, others, side};
use crate::layout::{BLOBS, CONFIGURATION, DATABASE, JOURNAL, RESERVE_WITHIN, SPARE_WITHIN};
use crate::{Error, place, regular};
use std::fs::File;
use std::io::{ErrorKind, Read, Result as IoResult, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The files that sled creates in its directory, apart from numbered side files, and ours.
const OWN_FILES: &[&str] = &[
    CONFIGURATION,
    DATABASE,
    BLOBS,
    JOURNAL,
    RESERVE_WITHIN,
    SPARE_WITHIN,
];
/// A directory that some file systems have at their top.
const OF_FILE_SYSTEMS: &str = "lost+found";
/// sled reads its settings as a whole; they take some hundred bytes.
const CONFIGURATION_BYTES_MAX: u64 = 64 << 10;
/// The first start writes less than this before there is a tree for frames.
const BEGUN_BYTES: u64 = 4 << 10;
const PIECE_BYTES: usize = 64 << 10;

/// The condition of a database, by the headers of its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatabaseState {
    /// There is none, or one whose first start was interrupted.
    New,
    /// One that was written to.
    Written,
}

/// Refuses anything other than a regular file under the name of one of ours, or than a directory where sled makes
/// one. Nothing has been opened by then.
pub(super) fn refuse_irregular_files(directory: &Path) -> Result<(), Error> {
    let files = entries(directory)?;
    let files = files.iter().filter(|path| is_read_by_database(path));
    for path in files {
        if path.ends_with(BLOBS) {
            check_directory(path)?;
        } else {
            regular::check(path, length_max(path))?;
        }
    }
    Ok(())
}

/// Refuses a file, and a link that leads nowhere. The error of sled would not name it.
fn check_directory(path: &Path) -> Result<(), Error> {
    let opening = || Error::io(format!("opening the directory {}", path.display()));
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Err(error) if error.kind() != ErrorKind::NotFound => Err(opening()(error)),
        Ok(_) | Err(_) => Err(opening()(ErrorKind::AlreadyExists.into())),
    }
}

/// The length limit of a file; only files that are read as a whole have one.
fn length_max(path: &Path) -> u64 {
    match path.file_name().and_then(|name| name.to_str()) {
        Some(CONFIGURATION) => CONFIGURATION_BYTES_MAX,
        Some(JOURNAL) => journal::BYTES_MAX,
        _ => u64::MAX,
    }
}

/// Whether a database reads what has this name in its directory: we or sled make it there. It does not read what a start
/// has set aside.
pub fn is_read_by_database(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    OWN_FILES.contains(&&*name) || name.starts_with(side::PREFIX)
}

/// Whether what is in the directory of a database is of the log. Others keep files there too, as some file systems do at
/// their top.
pub(crate) fn is_of_database(path: &Path) -> bool {
    is_read_by_database(path) || side::is_set_aside(path)
}

/// The paths of what is in a directory.
pub(super) fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let reading = Error::reading(format!("the data directory {}", directory.display()));
    place::paths_in(directory).map_err(reading)
}

/// Refuses a directory that sled would damage. Nothing has been changed by then. Beside a database that was
/// begun, files of other names do no harm.
pub(super) fn refuse_foreign(directory: &Path) -> Result<DatabaseState, Error> {
    let foreign = entries(directory)?
        .into_iter()
        .find(|path| !is_of_database(path) && !path.ends_with(OF_FILE_SYSTEMS));
    let path = directory.join(DATABASE);
    let file = regular::open_if_there(&path, File::options().read(true))?;
    let headers = file.map_or_else(|| Ok(Headers::default()), |file| Headers::read(&file));
    let headers = headers.map_err(Error::reading("the event log"))?;
    if let Some(foreign) = foreign.filter(|_| headers.sound == 0) {
        return Err(Error::Foreign(foreign));
    }
    match (headers.sound, headers.damaged, headers.has_more) {
        (0, damaged, true) if others::has_records(directory) => {
            let at = damaged.unwrap_or_default();
            Err(Error::Damaged { path, at })
        }
        (0, _, true) => Err(Error::Foreign(path)),
        (_, Some(at), _) => Err(Error::Damaged { path, at }),
        (_, _, true) => refuse_of_others(directory, DatabaseState::Written),
        (_, _, false) => refuse_of_others(directory, DatabaseState::New),
    }
}

fn refuse_of_others(directory: &Path, state: DatabaseState) -> Result<DatabaseState, Error> {
    others::found(directory, state)?.map_or(Ok(state), |path| Err(Error::Foreign(path)))
}

/// The segment headers of a database.
#[derive(Default)]
struct Headers {
    sound: u64,
    /// The offset of the first header that is neither sound nor blank.
    damaged: Option<u64>,
    /// Whether there is anything that a first start does not write.
    has_more: bool,
}

impl Headers {
    fn read(file: &File) -> IoResult<Self> {
        let length = file.metadata()?.len();
        let mut headers = Self::default();
        for at in (0..length).step_by(SEGMENT_BYTES) {
            match is_sound(&range(file, at, HEADER_BYTES as u64)?) {
                Some(true) => headers.sound += 1,
                Some(false) => headers.damaged = headers.damaged.or(Some(at)),
                None => {}
            }
        }
        headers.has_more = match headers.sound {
            0 => headers.damaged.is_some() || !is_blank(file, 0, length)?,
            1 => !is_blank(file, BEGUN_BYTES, length)?,
            _ => true,
        };
        Ok(headers)
    }
}

/// Whether a header is sound; `None` if it is blank, as in segments that sled has freed or not used yet.
fn is_sound(header: &[u8]) -> Option<bool> {
    if header.iter().all(|byte| *byte == 0) {
        return None;
    }
    Some(SegmentHeader::read(header).is_some())
}

pub(super) fn range(mut file: &File, at: u64, length: u64) -> IoResult<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_blank(mut file: &File, from: u64, until: u64) -> IoResult<bool> {
    file.seek(SeekFrom::Start(from))?;
    let mut rest = file.take(until.saturating_sub(from));
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = rest.read(&mut piece)?;
        if read == 0 {
            return Ok(true);
        }
        if piece.iter().take(read).any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
}
