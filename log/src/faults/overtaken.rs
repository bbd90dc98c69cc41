//! Backups that cannot be finished report why, both to the process that makes them and to the one that
//! reads them.

use super::backups::Target;
use super::disk::Disk;
use super::script;
use crate::{Error, Reader, Records, Tail, Writer, copy_backup, thin, verify};
use hindsight_core::{Pruned, Revision, Time};
use serde_json::json;
use std::sync::Arc;

fn logged() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    assert!(script::run(&disk).is_empty());
    disk
}

/// The result of making a backup, and of reading it.
type Results = [Result<(), Error>; 2];

/// Thins the log up to here once this many frames are copied; it may have been thinned before. Returns the
/// backup, too.
fn overtaken(
    is_thinned: bool,
    copied: usize,
    until: fn(&[Revision]) -> Revision,
) -> (Results, Vec<u8>) {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    if is_thinned {
        let floor = disk.frames()[20].0.previous();
        thin(&*disk, &reader, floor, script::empty(), &[]).expect("thinned");
    }
    let firsts: Vec<Revision> = disk.frames().iter().map(|(first, _)| *first).collect();
    let copied = copied.min(firsts.len() - 2);
    let until = until(&firsts).min(reader.newest().expect("read"));
    let (mut file, mut frames) = (Vec::new(), 0);
    let made = reader.backup(Time(5), &mut file, |_, _| {
        frames += 1;
        if frames == copied {
            thin(&*disk, &reader, until, script::empty(), &[]).expect("thinned");
        }
    });
    let read = copy_backup(&*file, std::io::sink(), |_, _| {});
    let results = [made, read].map(|result| result.map(drop));
    (results, file)
}

/// The floor of a log that is restored from this backup, which must be stated at its beginning and be true.
fn restored_floor(file: &[u8]) -> Revision {
    let (target, _) = Target::restored(file);
    let reader = target.reader();
    let floor = verify(&reader, |_| {}).expect("intact").floor;
    assert_eq!(reader.floor().expect("read"), floor);
    if floor > Revision::ZERO {
        let before = reader.state_at(script::empty(), floor.previous());
        assert!(
            matches!(before, Err(Error::Pruned(Pruned { floor: stated, .. })) if stated == floor),
            "{before:?}"
        );
    }
    let state_at = |reader: &Reader| {
        let state = reader.state_at(script::empty(), floor);
        state.expect("kept").hash()
    };
    assert_eq!(state_at(&reader), state_at(&Reader::new(logged())));
    floor
}

#[test]
fn a_backup_that_thinning_overtakes_says_so_to_its_reader_too() {
    let middle: fn(&[Revision]) -> Revision = |firsts| firsts[firsts.len() / 2].previous();
    let newest: fn(&[Revision]) -> Revision = |firsts| firsts[firsts.len() - 1].previous();
    let all_of_it: fn(&[Revision]) -> Revision = |_| Revision::MAX;
    let tried = [1, 2, 20, usize::MAX].map(|copied| [(false, copied), (true, copied)]);
    let (mut all, mut floors) = (0, Vec::new());
    for (is_thinned, copied) in tried.into_iter().flatten() {
        for until in [middle, newest, all_of_it] {
            let (results, file) = overtaken(is_thinned, copied, until);
            match results {
                [Err(Error::Overtaken { .. }), Err(Error::Overtaken { .. })] => all += 1,
                // A frame that was copied ends where a thinned one begins.
                [Ok(()), Ok(())] => floors.push(restored_floor(&file)),
                other => panic!("{is_thinned}, {copied}: {other:?}"),
            }
        }
    }
    floors.retain(|floor| *floor > Revision::ZERO);
    assert!(all > 3 && floors.len() > 3, "{all} {floors:?}");
}

/// Once this many frames are copied, more is written, and all of the log is thinned but its last frame.
fn passed(copied: usize) -> Results {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    let (mut file, mut frames) = (Vec::new(), 0);
    let made = reader.backup(Time(5), &mut file, |_, until| {
        frames += 1;
        if frames == copied {
            let writer = script::open(&disk);
            let mut commands = script::Commands::default();
            for index in 0..20 {
                let object = json!({"metadata": {"name": format!("later{index}")}});
                let command = commands.command(script::create("configmaps", "default", object));
                script::submit(&writer, &disk, vec![command]).expect("written");
            }
            drop::<Writer>(writer);
            let newest = reader.newest().expect("read");
            assert!(until < newest);
            let floor = newest.previous();
            thin(&*disk, &reader, floor, script::empty(), &[]).expect("thinned");
            assert_eq!(reader.floor().expect("read"), floor);
        }
    });
    let read = copy_backup(&*file, std::io::sink(), |_, _| {});
    [made, read].map(|result| result.map(drop))
}

#[test]
fn a_backup_whose_end_thinning_passes_is_overtaken_and_nothing_is_called_damaged() {
    let frames = logged().frames().len();
    // After the first frame the next thinned one begins exactly where the copy goes on.
    for copied in [1, 2, frames / 2, frames - 20] {
        let told = passed(copied);
        assert!(
            matches!(
                told,
                [Err(Error::Overtaken { .. }), Err(Error::Overtaken { .. })]
            ),
            "{copied}: {told:?}"
        );
    }
}

#[test]
fn thinning_behind_a_backup_does_not_disturb_it() {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Records>);
    let (mut file, mut is_thinned) = (Vec::new(), false);
    let made = reader.backup(Time(5), &mut file, |reached, until| {
        if !is_thinned && reached.0 > until.0 / 2 {
            is_thinned = true;
            thin(&*disk, &reader, reached, script::empty(), &[]).expect("thinned");
        }
    });
    assert!(made.is_ok() && is_thinned, "{made:?}");
    copy_backup(&*file, std::io::sink(), |_, _| {}).expect("whole");
    restored_floor(&file);
}

#[test]
fn why_a_backup_was_given_up_is_in_it_and_it_is_of_no_use() {
    let tail = Tail {
        revision: Revision(1 << 20),
        hash: [1; 32],
    };
    let lost = Disk::holding(logged().frames(), Some(tail));
    let mut file = Vec::new();
    let made = Reader::new(Arc::new(lost)).backup(Time(5), &mut file, |_, _| {});
    let made = made.expect_err("its end is lost").to_string();
    let mut copy = Vec::new();
    let read = copy_backup(&*file, &mut copy, |_, _| {}).expect_err("no end");
    let again = copy_backup(&*copy, std::io::sink(), |_, _| {}).expect_err("no end");
    for read in [read, again] {
        assert!(matches!(read, Error::Backup(_)), "{read}");
        assert!(read.to_string().contains(&made), "{read}: {made}");
    }
}
