//! Side files of the engine that are not of the database beside them: of a later time, of another log, or of
//! segments that were exchanged since. The engine takes them for true, and blanks what they do not name.

use super::copies::copy;
use super::damaged::{Found, frames, intact, make, whole};
use super::rot::open;
use crate::storage::sled::{SEGMENT_BYTES, SegmentHeader};
use crate::{SledStorage, Storage, Witnessed};
use hindsight_core::Revision;
use std::fs;
use std::path::{Path, PathBuf};

/// Frames in the copies of one log.
const COPIED_AT: [usize; 3] = [20, 70, 100];
/// Frames that are replaced one after the other; together they fill several segments.
const CHANGES: usize = 60;

/// A frame that nothing makes shorter.
fn noise(seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; 500 << 10];
    blake3::Hasher::new()
        .update(&seed.to_le_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

pub(super) fn side_files(at: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(at.join("events")).expect("listed");
    let paths = listed.map(|entry| entry.expect("listed").path());
    let is_side = |path: &PathBuf| path.to_string_lossy().contains("/snap.");
    paths.filter(is_side).collect()
}

pub(super) fn take_side_files(from: &Path, to: &Path) {
    for path in side_files(from) {
        let name = path.file_name().expect("named");
        fs::copy(&path, to.join("events").join(name)).expect("copied");
    }
}

/// A log that was opened once more after its end, so that its side file is of the end.
fn make_at(at: &Path, apart: u64, count: usize) -> Revision {
    let newest = make(at, &frames(apart)[..count]);
    assert_eq!(open(at).expect("opened"), newest);
    newest
}

/// As `cp -a old/. new/` leaves it: nothing is removed.
#[test]
fn an_older_copy_that_was_put_back_over_a_directory_opens_as_it_was() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: String| temporary.path().join(name);
    let copies = COPIED_AT.map(|count| {
        let at = place(count.to_string());
        (make_at(&at, 2, count), at)
    });
    for (index, (_, newer)) in copies.iter().enumerate() {
        for (newest, older) in &copies[..index] {
            let over = place("over".into());
            copy(newer, &over);
            copy(older, &over);
            assert_eq!(open(&over).expect("opened"), *newest);
            let found = intact(&over);
            assert!(found.broken.is_none() && found.until == *newest);
            assert_eq!(open(&over).expect("opened again"), *newest);
            fs::remove_dir_all(over).expect("removed");
        }
    }
}

#[test]
fn a_side_file_of_another_log_is_set_aside() {
    let temporary = tempfile::tempdir().expect("a directory");
    let place = |name: &str| temporary.path().join(name);
    for (own, count) in [(9, 30), (2, 100)] {
        let newest = make_at(&place("own"), own, count);
        for (other, length) in [(9, 20), (5, 30), (2, 90)] {
            make_at(&place("other"), other, length);
            for is_alone in [false, true] {
                let mixed = place("mixed");
                copy(&place("own"), &mixed);
                let own = side_files(&mixed);
                let removed = own.iter().filter(|_| is_alone);
                removed.for_each(|path| fs::remove_file(path).expect("removed"));
                take_side_files(&place("other"), &mixed);
                assert_eq!(open(&mixed).expect("opened"), newest, "{other} {length}");
                assert!(intact(&mixed).broken.is_none());
                fs::remove_dir_all(mixed).expect("removed");
            }
            fs::remove_dir_all(place("other")).expect("removed");
        }
        fs::remove_dir_all(place("own")).expect("removed");
    }
}

#[test]
fn of_segments_that_were_exchanged_none_is_blanked() {
    let temporary = tempfile::tempdir().expect("a directory");
    let sound = temporary.path().join("sound");
    let (newest, commits, _) = whole(&sound, 2, make);
    assert_eq!(open(&sound).expect("opened"), newest);
    let database = fs::read(sound.join("events/db")).expect("read");
    let segments = database.len().div_ceil(SEGMENT_BYTES);
    assert!(segments > 2, "{segments}");
    let mut found = Found::default();
    for (one, other) in (0..segments).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let exchanged = temporary.path().join("exchanged");
        copy(&sound, &exchanged);
        let mut bytes = database.clone();
        bytes.resize(segments * SEGMENT_BYTES, 0);
        for at in 0..SEGMENT_BYTES {
            bytes.swap(one * SEGMENT_BYTES + at, other * SEGMENT_BYTES + at);
        }
        fs::write(exchanged.join("events/db"), bytes).expect("written");
        found.judge(&exchanged, newest, &commits);
        fs::remove_dir_all(&exchanged).expect("removed");
    }
    println!("{found:?}");
    assert!(found.opened > 0, "{found:?}");
}

pub(super) fn is_any_set_aside(at: &Path) -> bool {
    let listed = fs::read_dir(at).expect("listed");
    let mut names = listed.map(|entry| entry.expect("listed").file_name());
    names.any(|name| name.to_string_lossy().ends_with(".damaged"))
}

/// Otherwise every start would read everything.
#[test]
fn a_side_file_of_the_database_stays() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    for count in COPIED_AT {
        make(&at.join("log"), &frames(2)[..count]);
        for _ in 0..3 {
            open(&at.join("log")).expect("opened");
            assert!(!is_any_set_aside(&at.join("log")), "{count}");
        }
        assert!(!side_files(&at.join("log")).is_empty());
        fs::remove_dir_all(at.join("log")).expect("removed");
    }
}

/// The segments that the side file names are freed and used again while history is dropped.
#[test]
fn a_side_file_stays_whose_segments_were_used_again() {
    let temporary = tempfile::tempdir().expect("a directory");
    let (at, killed) = (
        temporary.path().join("log"),
        temporary.path().join("killed"),
    );
    let mut first = Revision(1);
    for _ in 0..2 {
        let storage = SledStorage::open(&at.join("events")).expect("opened");
        let noted = side_files(&at);
        for _ in 0..CHANGES {
            storage.append(first, &noise(first.0)).expect("appended");
            storage.sync().expect("synced");
            let replaced = storage.replace(Revision(1), Witnessed::up_to(first), &[7]);
            replaced.expect("replaced");
            while storage.tidy().expect("tidied") {}
            first = first.next();
        }
        storage.sync().expect("synced");
        copy(&at, &killed);
        assert_eq!(
            side_files(&at),
            noted,
            "a process writes one when it starts"
        );
    }
    let found = side_files(&killed);
    let noted = found[0].file_name().expect("named").to_string_lossy();
    let noted = u64::from_str_radix(&noted[5..], 16).expect("a number");
    let segment = SEGMENT_BYTES as u64;
    let bytes = fs::read(killed.join("events/db")).expect("read");
    let headers = bytes.chunks(SEGMENT_BYTES).filter_map(SegmentHeader::read);
    let positions: Vec<_> = headers.map(|header| header.position).collect();
    assert!(
        !positions.contains(&(noted / segment * segment)),
        "{positions:?} {noted}"
    );
    drop(SledStorage::open(&killed.join("events")).expect("opened"));
    assert!(!is_any_set_aside(&killed));
}

/// The parent of the directory to which the link leads need not be writable, as that of a mount mostly is not.
#[cfg(unix)]
#[test]
fn if_events_is_a_link_nothing_is_set_aside_beside_what_it_leads_to() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let temporary = tempfile::tempdir().expect("a directory");
    let [data, volume] = ["data", "volume"].map(|name| temporary.path().join(name));
    let newest = make(&data, &frames(9)[..3]);
    fs::create_dir(&volume).expect("made");
    fs::rename(data.join("events"), volume.join("events")).expect("moved");
    symlink(volume.join("events"), data.join("events")).expect("linked");
    let damaged = ["snap.00000000FFFFFFFF", "conf"];
    for name in damaged {
        fs::write(data.join("events").join(name), "rot").expect("written");
    }
    let allow = |mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(&volume, mode).expect("set");
    };
    allow(0o555);
    let opened = open(&data);
    allow(0o755);
    assert_eq!(opened.expect("opened"), newest);
    for name in damaged {
        let aside = fs::read(data.join(format!("{name}.damaged")));
        assert_eq!(aside.expect("set aside"), b"rot");
    }
    assert_eq!(fs::read_dir(&volume).expect("listed").count(), 1);
}

/// A directory is in the way of the file, whoever runs this.
#[test]
fn where_a_side_file_cannot_be_set_aside_is_told() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    make(at, &frames(9)[..3]);
    fs::write(at.join("events/conf"), "rot").expect("written");
    fs::create_dir(at.join("conf.damaged")).expect("made");
    let told = open(at).expect_err("it has no place").to_string();
    let place = at.canonicalize().expect("there").join("conf.damaged");
    assert!(told.contains(&place.display().to_string()), "{told}");
}
