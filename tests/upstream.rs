//! `tests/upstream.md` names the tests that show each behaviour that upstream tests, and
//! `docs/semantics.md` those that show each line for users; all of them must exist.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::disk::print_skipped;
use hindsight_tests::evidence::{self, missing, quoted};
use hindsight_tests::tree::repository;
use std::collections::BTreeSet;
use std::process::Command;

/// Fewer rows than this mean that the table was cut, or is no longer parsed as one.
const ROWS_MIN: usize = 120;
/// How the last cell of a row without a test begins.
const EXCUSES: [&str; 3] = ["Not applicable: ", "Differs: ", "Missing: "];

/// One test of upstream's.
struct Row {
    upstream: String,
    shown_by: Vec<String>,
    differs: String,
}

fn rows() -> Vec<Row> {
    let path = repository().join("tests/upstream.md");
    let text = std::fs::read_to_string(path).expect("the table");
    evidence::rows(&text).iter().map(row).collect()
}

fn row(cells: &Vec<String>) -> Row {
    let [upstream, _, shown_by, differs] = cells.as_slice() else {
        return Row {
            upstream: cells.join("|"),
            shown_by: Vec::new(),
            differs: "it does not have four cells".into(),
        };
    };
    Row {
        upstream: upstream.clone(),
        shown_by: quoted(shown_by),
        differs: differs.clone(),
    }
}

#[test]
fn what_shows_a_behaviour_of_upstream_exists() {
    let rows = rows();
    assert!(rows.len() >= ROWS_MIN, "only {} rows", rows.len());
    let (mut findings, mut shown) = (Vec::new(), Vec::new());
    for row in &rows {
        let excused = EXCUSES.iter().any(|excuse| row.differs.starts_with(excuse));
        if row.shown_by.is_empty() && !excused {
            findings.push(format!(
                "{}: nothing shows it: {}",
                row.upstream, row.differs
            ));
        }
        shown.extend(row.shown_by.iter().cloned());
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    assert_eq!(missing(&shown), Vec::<&String>::new());
}

#[test]
fn what_the_users_page_names_exists() {
    let path = repository().join("docs/semantics.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let links = text.split("](").skip(1).filter_map(|rest| {
        let link = rest
            .split(')')
            .next()?
            .strip_prefix("../tests/scenarios/")?;
        Some(link.trim_end_matches(".scenario").to_owned())
    });
    let is_test = |word: &String| {
        let is_name = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_';
        word.contains('_') && word.chars().all(is_name)
    };
    let functions = quoted(&text).into_iter().filter(is_test);
    let names: Vec<String> = links.chain(functions).collect();
    assert!(names.len() > 60, "only {} are named", names.len());
    assert_eq!(missing(&names), Vec::<&String>::new());
}

#[test]
fn no_row_is_there_twice() {
    let mut seen = BTreeSet::new();
    for row in rows() {
        assert!(seen.insert(row.upstream.clone()), "twice: {}", row.upstream);
    }
}

/// A measurement on a commit that does not exist cannot be repeated.
#[test]
fn every_commit_that_is_named_is_there() {
    let root = repository();
    let git = |arguments: &[&str]| {
        let run = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(arguments)
            .output();
        run.expect("git runs")
    };
    if git(&["rev-parse", "--is-shallow-repository"]).stdout != b"false\n" {
        print_skipped(
            "every_commit_that_is_named_is_there",
            "the history is not there",
        );
        return;
    }
    let mut named = BTreeSet::new();
    for file in [
        "docs/reliability.md",
        "benches/RESULTS.md",
        "README.md",
        "docs/profiles/README.md",
    ] {
        let text = std::fs::read_to_string(root.join(file)).expect("a page");
        let words = text.split(|one: char| !one.is_ascii_alphanumeric());
        named.extend(words.filter(|word| is_commit(word)).map(str::to_owned));
    }
    assert!(named.len() > 10, "{named:?}");
    let is_gone = |hash: &&String| {
        let commit = format!("{hash}^{{commit}}");
        !git(&["cat-file", "-e", &commit]).status.success()
    };
    let gone: Vec<&String> = named.iter().filter(is_gone).collect();
    assert!(gone.is_empty(), "nobody has {gone:?}");
}

/// Whether a word is a short hash as git prints it, or has printed it; no other number is written so.
fn is_commit(word: &str) -> bool {
    let is_hex = |one: u8| one.is_ascii_digit() || (b'a'..=b'f').contains(&one);
    matches!(word.len(), 7 | 8)
        && word.bytes().all(is_hex)
        && word.bytes().any(|one| one.is_ascii_digit())
        && word.bytes().any(|one| one.is_ascii_alphabetic())
}
