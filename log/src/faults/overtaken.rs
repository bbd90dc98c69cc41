//! Backups that cannot be finished report why, both to the process that makes them and to the one that
//! reads them.

use super::disk::Disk;
use super::script;
use crate::{Error, Reader, Storage, Tail, Writer, copy_backup, thin};
use hindsight_core::{Revision, Time};
use serde_json::json;
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

/// Once this many frames are copied, more is written, and all of the log is thinned but its last frame.
fn passed(copied: usize) -> [Result<(), Error>; 2] {
    let disk = logged();
    let reader = Reader::new(Arc::clone(&disk) as Arc<dyn Storage>);
    let (mut file, mut frames) = (Vec::new(), 0);
    let made = reader.backup(Time(5), &mut file, |_, until| {
        frames += 1;
        if frames == copied {
            let (writer, _) = script::open(&disk);
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
