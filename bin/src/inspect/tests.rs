//! What is asked of the log itself.

use super::*;
use crate::testing::{plane, restored};

/// Ages as of a restore are those of then, however old its backup was.
#[test]
fn a_restore_has_a_time_of_its_own() {
    let plane = plane();
    let newest = plane.state().revision;
    let of_backup = time_of(plane.reader(), newest).expect("read");
    assert!(of_backup.is_some_and(|time| time > Time(0)));
    let reader = Reader::new(restored(&plane));
    let next = reader.entries(newest.next()).next();
    let restore = next.expect("an entry").expect("read").revision();
    assert_eq!(time_of(&reader, newest).expect("read"), of_backup);
    assert_eq!(time_of(&reader, restore).expect("read"), Some(Time(0)));
    assert_eq!(
        time_of(&reader, restore.previous()).expect("read"),
        of_backup
    );
}
