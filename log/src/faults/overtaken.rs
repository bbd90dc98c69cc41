//! Backups that cannot be finished report why, both to the process that makes them and to the one that
//! reads them.

use super::disk::Disk;
use super::script;
use crate::{Error, Reader, Storage, Tail, copy_backup, thin};
use hindsight_core::{Revision, Time};
use std::sync::Arc;

fn logged() -> Arc<Disk> {
    let disk = Arc::new(Disk::default());
    assert!(script::run(&disk).is_empty());
    disk
}

/// Thins the log up to here once this many frames are copied. Returns the result of making the backup,
/// and of reading it.
fn overtaken(copied: usize, until: fn(&[Revision]) -> Revision) -> [Result<(), Error>; 2] {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Storage>);
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
    [made, read].map(|result| result.map(drop))
}

#[test]
fn a_backup_that_thinning_overtakes_says_so_to_its_reader_too() {
    let middle: fn(&[Revision]) -> Revision = |firsts| firsts[firsts.len() / 2].previous();
    let newest: fn(&[Revision]) -> Revision = |firsts| firsts[firsts.len() - 1].previous();
    let all_of_it: fn(&[Revision]) -> Revision = |_| Revision(u64::MAX);
    let mut all = 0;
    for copied in [1, 2, 20, usize::MAX] {
        for until in [middle, newest, all_of_it] {
            match overtaken(copied, until) {
                [Err(Error::Overtaken { .. }), Err(Error::Overtaken { .. })] => all += 1,
                // A frame that was copied ends where a thinned one begins.
                [Ok(()), Ok(())] => {}
                other => panic!("{copied}: {other:?}"),
            }
        }
    }
    assert!(all > 3, "{all}");
}

#[test]
fn thinning_behind_a_backup_does_not_disturb_it() {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Storage>);
    let (mut file, mut is_thinned) = (Vec::new(), false);
    let made = reader.backup(Time(5), &mut file, |reached, until| {
        if !is_thinned && reached.0 > until.0 / 2 {
            is_thinned = true;
            thin(&*disk, &reader, reached, script::empty(), &[]).expect("thinned");
        }
    });
    assert!(made.is_ok() && is_thinned, "{made:?}");
    copy_backup(&*file, std::io::sink(), |_, _| {}).expect("whole");
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
