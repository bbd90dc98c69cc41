//! Runs every `*.scenario` file as a test of its own.
#![allow(
    clippy::expect_used,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::scenario;
use hindsight_tests::tree::repository;
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::PathBuf;

fn main() {
    let root = repository().join("tests/scenarios");
    let mut folders = vec![root.clone()];
    let mut trials = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "scenario")
            {
                let name = path
                    .strip_prefix(&root)
                    .unwrap_or(&path)
                    .display()
                    .to_string();
                trials.push(Trial::test(name, move || run(&path)));
            }
        }
    }
    assert!(trials.len() > 10, "the scenarios were not found");
    trials.sort_by(|one, other| one.name().cmp(other.name()));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn run(path: &PathBuf) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    scenario::run(&text).map_err(Failed::from)
}
