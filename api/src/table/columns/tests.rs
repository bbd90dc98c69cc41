//! Every built-in kind has its columns.

use super::*;
use hindsight_core::builtin::kinds;
use std::collections::BTreeSet;

/// Those that show their name and age upstream too.
const NAME_AND_AGE: &[&str] = &["deviceclasses", "resourceclaimtemplates"];

#[test]
fn every_built_in_kind_has_its_columns_or_is_known_to_have_none() {
    let all = kinds();
    let stored = all.iter().filter(|kind| !kind.strategy.review);
    let stored: BTreeSet<&str> = stored.map(|kind| &*kind.resource.resource).collect();
    let rows = ROWS.lines().filter_map(|row| row.split_once(": "));
    let rows: Vec<&str> = rows.map(|row| row.0).collect();
    let known: BTreeSet<&str> = rows.iter().chain(NAME_AND_AGE).copied().collect();
    assert_eq!(known.len(), rows.len() + NAME_AND_AGE.len(), "one row each");
    assert_eq!(known, stored);
}
