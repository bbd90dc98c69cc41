//! The steps in which a log is opened. Each knows more of what is there than the one before it, and only the last
//! writes records.

use super::super::database::Database;
use super::super::foreign::{DatabaseState, refuse_foreign};
use super::super::frame_span::FrameSpan;
use super::super::frames::FrameTrees;
use super::super::journal::{Journal, JournalContents};
use super::super::pending::{Pending, PendingFrame};
use super::super::reconcile::{end_behind, not_yet_stored, refuse_thinned_over};
use super::super::{
    SledStorage, TREE_FORMAT, TREE_PREFIX, absent, check_reaches, hidden, refuse_unwitnessed,
    reserve_path, side,
};
use super::{
    open_with_reserve, refuse_short_files, sync_before_reading, sync_directories, wait_until_free,
};
use crate::layout::{DATABASE, witness_path};
use crate::place::sync_directory;
use crate::regular::is_there;
use crate::storage::closing::Engine;
use crate::storage::reserve::Reserve;
use crate::storage::space::{Space, WRITE_AMPLIFICATION};
use crate::storage::witness::WitnessFile;
use crate::{Error, Tail, copy_on_write, owner_only, parallel, place};
use hindsight_core::Revision;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Opens the log in this directory, or creates it. The errors do not say how far the log is intact.
pub(in super::super) fn open(directory: &Path) -> Result<SledStorage, Error> {
    let directory = make(directory)?;
    Examined::of(directory)?.open()?.reconcile()?.settle()
}

/// Makes the directory if there is none, and finds where it is.
fn make(directory: &Path) -> Result<PathBuf, Error> {
    // Refused before anything is made: what is made would be in the way of what is moved back.
    absent::find(directory, None)?;
    let is_made = !is_there(directory)?;
    owner_only::make(directory)?;
    if is_made {
        copy_on_write::overwrite_in_place(directory, &[]);
    }
    let resolved = place::resolved(directory);
    resolved.map_err(Error::io(format!("finding {}", directory.display())))
}

/// Files in which sled would find all that was acknowledged. Who may read them is restricted by now, and side files
/// that are not theirs are set aside.
struct Examined {
    directory: PathBuf,
    contents: JournalContents,
    state: DatabaseState,
    reserve: Reserve,
}

impl Examined {
    fn of(directory: PathBuf) -> Result<Self, Error> {
        SledStorage::check_files(&directory)?;
        let path = directory.join(DATABASE);
        wait_until_free(&path)?;
        let state = refuse_foreign(&directory)?;
        owner_only::make_restricted(&directory)?;
        refuse_short_files(&path)?;
        parallel::start_threads()?;
        let reserve = Reserve::at(reserve_path(&directory));
        sync_before_reading(&path)?;
        let contents = JournalContents::of(&directory)?;
        side::quarantine_unreadable(&directory)?;
        hidden::refuse_hidden(&directory, contents.synced())?;
        Ok(Self {
            directory,
            contents,
            state,
            reserve,
        })
    }

    fn open(mut self) -> Result<Opened, Error> {
        let engine = open_with_reserve(&self.directory, self.contents.synced(), &mut self.reserve);
        self.reserve.replenish();
        let engine = Engine::new(engine?);
        refuse_unknown_trees(&engine, self.state, &self.directory.join(DATABASE))?;
        Ok(Opened {
            frames: FrameTrees::open(&engine)?,
            engine,
            directory: self.directory,
            contents: self.contents,
            reserve: self.reserve,
        })
    }
}

/// A database of ours that sled has opened.
struct Opened {
    /// Before the engine in the order of dropping.
    frames: FrameTrees,
    engine: Engine<::sled::Db>,
    directory: PathBuf,
    contents: JournalContents,
    reserve: Reserve,
}

impl Opened {
    fn reconcile(self) -> Result<Reconciled, Error> {
        let (unstored, newest) = not_yet_stored(&self.frames, &self.contents)?;
        // Before it is forgotten what the system has cached of it: a note that the disk never had is true.
        if let Some(witnessed) = WitnessFile::read(&witness_path(&self.directory))? {
            check_reaches(newest.last, witnessed)?;
            refuse_thinned_over(&self.frames, witnessed.revision)?;
        }
        Ok(Reconciled {
            opened: self,
            unstored,
            newest,
        })
    }
}

/// A database of the same log as the journal and the witness, which with the journal reaches as far as that says.
struct Reconciled {
    opened: Opened,
    /// What only the journal has.
    unstored: Vec<PendingFrame>,
    /// The newest frame once that is stored.
    newest: FrameSpan,
}

impl Reconciled {
    /// Stores what only the journal has, and begins the journal anew.
    fn settle(self) -> Result<SledStorage, Error> {
        let Self {
            mut opened,
            unstored,
            newest,
        } = self;
        let directory = &*opened.directory;
        let bytes = unstored.iter().map(|(_, frame)| frame.len() as u64);
        let bytes = bytes.sum::<u64>().saturating_mul(WRITE_AMPLIFICATION);
        let of_witness = WitnessFile::missing_bytes(&witness_path(directory));
        opened
            .reserve
            .release_until_free(bytes.saturating_add(of_witness))?;
        let database = Database::new(opened.engine, opened.frames, directory)?;
        let (witness, witnessed) = open_witness(&witness_path(directory), newest.last)?;
        let space = Space::new(
            database.file()?,
            opened.reserve,
            Arc::clone(database.place()),
        );
        database.append(&unstored)?;
        database.make_durable()?;
        // Until a database that is new has its name, the journal may be all that there is of the log.
        sync_directory(directory).map_err(Error::io("syncing the directory of the event log"))?;
        witness_end(&witness, witnessed, &database.frames);
        let journal = Journal::begin(directory, newest.first)?;
        space.replenish_reserve();
        sync_directories(directory)?;
        Ok(SledStorage {
            database,
            journal: Mutex::new(journal),
            pending: Pending::default(),
            space,
            witness,
            witnessed,
        })
    }
}

/// Opens the file of the witness, which is created, durably, before the first frame. So if it is missing
/// although there are frames, somebody removed it, or copied the database alone. It may be empty or blank
/// after a power cut that came before its first sync; and an operator empties it to accept the log as it
/// is.
pub(in super::super) fn open_witness(
    path: &Path,
    newest: Revision,
) -> Result<(WitnessFile, Option<Tail>), Error> {
    refuse_unwitnessed(path, newest)?;
    let opened = WitnessFile::open(path)?;
    if let Some(witnessed) = opened.1 {
        check_reaches(newest, witnessed)?;
    }
    if newest > Revision::ZERO && opened.1.is_none() {
        tracing::warn!(
            file = %path.display(),
            revision = %newest,
            "nothing witnesses the end of the log: it is accepted as it is, up to this revision, and \
             whether more was acknowledged is unknown"
        );
    }
    Ok(opened)
}

/// Notes durably how far the log reaches, before the journal is emptied: until then the journal proves that. A question
/// empties it too, and perhaps no start follows. If the log cannot be read so far, the old note stays as evidence; one
/// that is absent is not made, so that every command says so until a start has read the whole log.
fn witness_end(witness: &WitnessFile, witnessed: Option<Tail>, frames: &FrameTrees) {
    let Some(noted) = witnessed else { return };
    // What cannot be read is told to whoever reads that far.
    if let Ok(end) = end_behind(frames, noted) {
        witness.note_durably(&end);
    }
}

/// Refuses a database in which sled found none of our trees although it was written to (it is another
/// program's, or sled could not read it), and one of a newer release. Both would look like an empty log.
fn refuse_unknown_trees(
    database: &::sled::Db,
    state: DatabaseState,
    path: &Path,
) -> Result<(), Error> {
    let formats = database.tree_names().into_iter().filter_map(|name| {
        let name = std::str::from_utf8(&name).ok()?;
        name.strip_prefix(TREE_PREFIX)?.parse::<u8>().ok()
    });
    match formats.max() {
        Some(found) if found > TREE_FORMAT => Err(Error::NewerFormat {
            found,
            known: TREE_FORMAT,
            revision: None,
        }),
        None if state == DatabaseState::Written => Err(Error::Foreign(path.to_owned())),
        _ => Ok(()),
    }
}
