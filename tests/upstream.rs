//! `tests/upstream.md` names what shows each behaviour that upstream tests, and `docs/semantics.md` what
//! shows each line for users; all of it must exist.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::tree::{repository, rust_sources};
use std::collections::BTreeSet;

/// Fewer rows than this means that the table was cut, or is no longer read as one.
const ROWS_MIN: usize = 120;
/// How a row without a test of ours begins to say why.
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
    let rows = text.lines().filter(|line| line.starts_with("| ")).map(row);
    rows.filter(|row| row.upstream != "Upstream").collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [upstream, _, shown_by, differs] = cells.as_slice() else {
        return Row {
            upstream: line.to_owned(),
            shown_by: Vec::new(),
            differs: "it does not have four cells".into(),
        };
    };
    let names = shown_by.split('`').skip(1).step_by(2);
    Row {
        upstream: (*upstream).to_owned(),
        shown_by: names.map(str::to_owned).collect(),
        differs: (*differs).to_owned(),
    }
}

/// Every function under a test attribute.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in rust_sources() {
        let mut is_test = false;
        for line in source.text.lines().map(str::trim) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let name = line.strip_prefix("async ").unwrap_or(line);
            let name = name
                .strip_prefix("fn ")
                .and_then(|rest| rest.split('(').next());
            if let Some(name) = name.filter(|_| std::mem::take(&mut is_test)) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

/// What is not there of this.
fn missing(names: &[String]) -> Vec<&String> {
    let tests = tests();
    let scenarios = repository().join("tests/scenarios");
    let exists = |name: &String| {
        let scenario = name.contains('/') && scenarios.join(format!("{name}.scenario")).is_file();
        scenario || tests.contains(name)
    };
    names.iter().filter(|name| !exists(name)).collect()
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
    let is_test = |word: &&str| word.contains('_') && word.split('_').count() > 4;
    let functions = text.split('`').skip(1).step_by(2).filter(is_test);
    let names: Vec<String> = links.chain(functions.map(str::to_owned)).collect();
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
