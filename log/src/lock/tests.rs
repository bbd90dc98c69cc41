//! Who holds a directory, who is told of whom, and what is left alone.

use super::*;
use std::cell::Cell;

/// Another process that holds a lock.
#[cfg(unix)]
struct Other(std::process::Child);

#[cfg(unix)]
impl Other {
    fn holding(directory: &Path) -> Self {
        use std::io::{BufRead, BufReader};
        use std::process::{Command, Stdio};
        let mut command = Command::new("flock");
        command
            .arg(DirectoryLock::path(directory))
            .args(["-c", "echo held; read end"]);
        let begun = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut other = begun.expect("flock runs");
        let mut told = String::new();
        let output = other.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut told).expect("read");
        assert_eq!(told, "held\n");
        Self(other)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("it ends");
    }
}

#[test]
fn a_directory_has_one_holder_who_is_named_to_the_next() {
    let temporary = tempfile::tempdir().expect("a directory");
    let mut held = DirectoryLock::acquire(temporary.path()).expect("free");
    held.describe(Some("https://here")).expect("written");
    let refused = DirectoryLock::acquire(temporary.path()).expect_err("held");
    let named = "this process at https://here";
    assert!(matches!(&refused, Error::Locked { holder, .. } if holder == named));
    drop(held);
    let named = format!("process {} at https://here", std::process::id());
    assert_eq!(DirectoryLock::holder(temporary.path()), Some(named));
    DirectoryLock::acquire(temporary.path()).expect("free again");
}

#[cfg(unix)]
#[test]
fn a_directory_is_free_at_once_while_other_threads_start_processes() {
    let temporary = tempfile::tempdir().expect("a directory");
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let run = std::process::Command::new("true").status();
                assert!(run.expect("it runs").success());
            }
        });
        let mut taken = (0..2_000).map(|_| DirectoryLock::acquire(temporary.path()).map(drop));
        let taken = taken.find(Result::is_err);
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(taken.is_none(), "{taken:?}");
    });
}

/// Another process, because this one would be told of as itself.
#[cfg(unix)]
#[test]
fn a_holder_without_a_name_is_told_as_one_that_could_not_write_it() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    for unnamed in ["", "\0\0\0\0"] {
        std::fs::write(DirectoryLock::path(at), unnamed).expect("written");
        let other = Other::holding(at);
        let refused = DirectoryLock::acquire(at).expect_err("held").to_string();
        let told = format!(
            "is in use by a process that could not write its name into {}; stop it, or",
            DirectoryLock::path(at).display()
        );
        assert!(refused.contains(&told), "{refused}");
        other.end();
    }
}

/// As in two containers with one volume, in both of which the server is process 1.
#[cfg(unix)]
#[test]
fn a_holder_with_the_number_of_this_process_is_not_taken_for_it() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    let id = std::process::id();
    // Held before and given back.
    drop(DirectoryLock::acquire(at).expect("free"));
    let other = Other::holding(at);
    let named = Some(format!("process {id}"));
    assert_eq!(DirectoryLock::holder(at), named, "as we left it");
    let refused = DirectoryLock::acquire(at).expect_err("held").to_string();
    let advice = format!("by process {id}; stop it, or name another data directory");
    assert!(refused.ends_with(&advice), "{refused}");
    other.end();
    DirectoryLock::acquire(at).expect("free again");
}

#[test]
fn a_file_of_somebody_else_that_is_called_lock_is_left_as_it_is() {
    let temporary = tempfile::tempdir().expect("a directory");
    let file = DirectoryLock::path(temporary.path());
    for foreign in ["{\"name\": \"x\"}\n", "\0\0x", "processes\n", "p r"] {
        std::fs::write(&file, foreign).expect("written");
        let refused = DirectoryLock::acquire(temporary.path()).expect_err("not ours");
        assert!(matches!(refused, Error::Foreign(path) if path == file));
        let kept = std::fs::read_to_string(&file).expect("there");
        assert_eq!(kept, foreign);
    }
    for ours in [
        "",
        "process 1\n",
        "process 1 at https://here\n",
        "proc",
        "\0\0\0\0\0\0\0\0\0",
    ] {
        std::fs::write(&file, ours).expect("written");
        let taken = DirectoryLock::acquire(temporary.path());
        assert!(taken.is_ok(), "{ours:?}");
    }
}

#[test]
fn what_was_removed_before_it_was_locked_is_made_and_locked_again() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path().join("new");
    let left = Cell::new(2_u32);
    let others_remove = |file: &File| {
        if let Some(fewer) = left.get().checked_sub(1) {
            left.set(fewer);
            std::fs::remove_file(DirectoryLock::path(&at)).expect("removed");
            std::fs::remove_dir(&at).expect("removed");
        }
        file.try_lock()
    };
    let held = DirectoryLock::acquire_by(&at, others_remove).expect("in the end");
    assert!(DirectoryLock::check(&at).is_err(), "others are kept out");
    assert_eq!(left.get(), 0);
    held.remove();
    left.set(u32::MAX);
    let refused = DirectoryLock::acquire_by(&at, others_remove).expect_err("never");
    let told = refused.to_string();
    let advised = "again and again; stop it, or name another";
    assert!(told.contains(advised), "{told}");
}

/// A shared lock can be had then, but nobody reads.
#[test]
fn whose_holder_ends_while_it_is_asked_who_that_is_gets_the_directory() {
    let temporary = tempfile::tempdir().expect("a directory");
    let held = Cell::new(Some(
        DirectoryLock::acquire(temporary.path()).expect("free"),
    ));
    let ends = |file: &File| {
        let locked = file.try_lock();
        drop(held.take());
        locked
    };
    DirectoryLock::acquire_by(temporary.path(), ends).expect("free by now");
}

#[test]
fn who_asks_whether_a_directory_is_free_writes_nothing() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    DirectoryLock::check(at).expect("free");
    assert!(!DirectoryLock::path(at).exists());
    let mut held = DirectoryLock::acquire(at).expect("free");
    held.describe(Some("https://here")).expect("written");
    let refused = DirectoryLock::check(at).expect_err("held");
    assert!(
        matches!(&refused, Error::Locked { holder, .. } if holder.ends_with("at https://here"))
    );
    drop(held);
    let named = DirectoryLock::holder(at);
    DirectoryLock::check(at).expect("free");
    assert_eq!(DirectoryLock::holder(at), named);
    DirectoryLock::acquire(at).expect("not kept");
}

#[test]
fn who_only_reads_keeps_writers_out_and_not_other_readers() {
    let temporary = tempfile::tempdir().expect("a directory");
    let at = temporary.path();
    let none = DirectoryLock::acquire_to_read(at).expect("nobody");
    assert!(none.is_none(), "nothing is made for it");
    let held_by = |refused| match refused {
        Error::Locked { holder, .. } => holder,
        other => panic!("{other}"),
    };
    let mut writer = DirectoryLock::acquire(at).expect("free");
    writer.describe(Some("https://here")).expect("written");
    let refused = DirectoryLock::acquire_to_read(at).expect_err("held");
    assert!(held_by(refused).ends_with(" at https://here"));
    drop(writer);
    let readers = [0; 2].map(|_| DirectoryLock::acquire_to_read(at).expect("free"));
    assert!(readers.iter().all(Option::is_some));
    let refused = DirectoryLock::acquire(at).expect_err("read");
    assert_eq!(held_by(refused), READER, "and nobody of before");
    drop(readers);
    DirectoryLock::acquire(at).expect("free again");
}

#[cfg(unix)]
#[test]
fn who_locks_by_a_link_has_the_directory_to_which_it_led_then() {
    use std::os::unix::fs::symlink;
    let temporary = tempfile::tempdir().expect("a directory");
    let above = temporary.path().canonicalize().expect("there");
    let [own, other, link] = ["own", "other", "current"].map(|name| above.join(name));
    for directory in [&own, &other] {
        std::fs::create_dir(directory).expect("made");
    }
    symlink(&own, &link).expect("linked");
    let held = DirectoryLock::acquire(&link).expect("free");
    std::fs::remove_file(&link).expect("removed");
    symlink(&other, &link).expect("switched");
    assert_eq!(held.directory(), own);
    let next = DirectoryLock::acquire(&link).expect("free");
    assert_eq!(next.directory(), other);
    assert!(DirectoryLock::check(&own).is_err(), "it is still held");
}
