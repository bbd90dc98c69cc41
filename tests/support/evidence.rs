//! Reads tables in documents that name tests as evidence: every name must be one of a test that
//! exists.

use crate::tree::{repository, rust_sources};
use std::collections::BTreeSet;

/// The cells of every row of a Markdown table, without its head.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let Some(line) = line.strip_prefix('|') else {
            continue;
        };
        if line.starts_with("--") {
            rows.pop();
            continue;
        }
        let cells = line.trim_end().trim_end_matches('|').split('|');
        rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
    }
    rows
}

/// The words between backticks.
pub fn quoted(text: &str) -> Vec<String> {
    let words = text.split('`').skip(1).step_by(2);
    words.map(str::to_owned).collect()
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

/// The names that are neither a test nor a scenario. A name that ends in dots stands for the one test
/// whose name begins so.
pub fn missing(names: &[String]) -> Vec<&String> {
    let tests = tests();
    let scenarios = repository().join("tests/scenarios");
    let exists = |name: &String| {
        let scenario = name.contains('/') && scenarios.join(format!("{name}.scenario")).is_file();
        let short = name.strip_suffix("...");
        let begun = short
            .is_some_and(|short| tests.iter().filter(|test| test.starts_with(short)).count() == 1);
        scenario || begun || tests.contains(name)
    };
    names.iter().filter(|name| !exists(name)).collect()
}

/// The names of the mutants in `tests/mutants/list`, without the equivalent ones.
pub fn mutants() -> BTreeSet<String> {
    let list = std::fs::read_to_string(repository().join("tests/mutants/list")).expect("the list");
    let heads = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '-', '+']));
    heads
        .filter(|line| !line.contains(" equivalent:"))
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect()
}
