//! Rules that hold for the whole tree: which crates may depend on which, how long files and functions
//! may be, and more.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops where its ground is not what it expects"
)]

use hindsight_tests::tree::{Source, functions, repository, rust_sources};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
/// Files that pass each case on to the code for it, and so grow with every case.
const DISPATCHERS: &[&str] = &["core/src/machine.rs", "bin/src/cli.rs"];
const DISPATCHER_LINES_MAX: usize = 200;

type Crates = &'static [&'static str];

/// For each crate, our crates that it may use in production, and the foreign crates that it must not:
/// what the code map of ARCHITECTURE.md says that it must not know.
const LAYERS: &[(&str, Crates, &[Crates])] = &[
    ("hindsight-core", &[], &[RUNTIME, STORAGE, HTTP]),
    ("hindsight-log", &["hindsight-core"], &[HTTP]),
    (
        "hindsight-projector",
        &["hindsight-core"],
        &[RUNTIME, STORAGE, HTTP],
    ),
    (
        "hindsight-gc",
        &["hindsight-core", "hindsight-projector"],
        &[RUNTIME, STORAGE, HTTP],
    ),
    ("hindsight-api", &["hindsight-core"], &[STORAGE]),
    (
        "hindsight",
        &[
            "hindsight-api",
            "hindsight-core",
            "hindsight-gc",
            "hindsight-log",
            "hindsight-projector",
        ],
        &[STORAGE],
    ),
];

const RUNTIME: Crates = &["crossbeam-channel", "rayon", "tokio", "tracing"];
const STORAGE: Crates = &["bincode", "crc32fast", "lz4_flex", "rustix", "sled"];
const HTTP: Crates = &[
    "http",
    "http-body",
    "http-body-util",
    "hyper",
    "hyper-util",
    "k8s-openapi",
    "rustls",
    "tokio-rustls",
];
/// The folders in which none of `EFFECTS` may be named outside of tests.
const PURE_SOURCES: &[&str] = &["core/src/", "projector/src/", "gc-worker/src/"];
const EFFECTS: &[&str] = &[
    "std::fs",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "std::process",
    "std::env",
    "std::thread",
    "std::io",
    "SystemTime",
    "Instant",
    "Utc::now",
    "Local::now",
    "new_v4",
    "RandomState",
    "HashMap",
    "HashSet",
    "getrandom",
    "rand::",
    "println!",
    // A group of imports could hold any of these.
    "std::{",
];

#[test]
fn crates_depend_only_on_the_layers_below_them() {
    let metadata = cargo_metadata();
    for (package, allowed, _) in LAYERS {
        let found = dependencies(&metadata, package);
        for name in found.iter().filter(|name| name.starts_with("hindsight")) {
            assert!(
                allowed.contains(&name.as_str()),
                "{package} may not depend on {name}"
            );
        }
    }
}

#[test]
fn crates_see_nothing_of_others_that_is_not_for_them() {
    let metadata = cargo_metadata();
    let of = |package: &str| dependencies(&metadata, package);
    let used: BTreeSet<String> = LAYERS
        .iter()
        .flat_map(|(package, ..)| of(package))
        .collect();
    for (package, _, forbidden) in LAYERS {
        let found = of(package);
        assert!(!found.is_empty(), "{package} is unknown to cargo metadata");
        for name in forbidden.iter().copied().flatten() {
            assert!(used.contains(*name), "nobody uses {name}");
            assert!(!found.contains(*name), "{package} may not depend on {name}");
        }
    }
}

#[test]
fn pure_crates_name_no_clock_no_thread_no_file_and_nothing_random() {
    let mut findings = Vec::new();
    let pure = |path: &str| PURE_SOURCES.iter().any(|folder| path.starts_with(folder));
    let sources = rust_sources().filter(|one| pure(&one.path));
    let is_test = |path: &str| {
        path.split('/')
            .any(|part| ["tests", "tests.rs"].contains(&part))
    };
    for source in sources.filter(|one| !is_test(&one.path)) {
        let named = effects_in(&source.text);
        findings.extend(named.map(|effect| format!("{}: {effect}", source.path)));
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Effects that are named outside of comments and of code for tests.
fn effects_in(text: &str) -> impl Iterator<Item = &'static str> {
    let mut lines = text.lines();
    let mut code = String::new();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            if !line.trim_start().starts_with("//") {
                code.push_str(line);
                code.push('\n');
            }
            continue;
        }
        // Skips the item under the attribute.
        let first = lines.next().unwrap_or_default();
        let indented = &first[..first.len() - first.trim_start().len()];
        let end = format!("{indented}}}");
        if !first.trim_end().ends_with([';', '}']) {
            lines.find(|line| *line == end);
        }
    }
    EFFECTS
        .iter()
        .copied()
        .filter(move |effect| code.contains(effect))
}

#[test]
fn an_effect_is_found_behind_tests_that_are_in_a_file_of_their_own() {
    let found = |text: &str| effects_in(text).count();
    let effect = "fn now() { std::fs::read(\"a\"); }\n";
    assert_eq!(found(effect), 1);
    assert_eq!(found(&format!("#[cfg(test)]\nmod tests;\n{effect}")), 1);
    assert_eq!(
        found(&format!("#[cfg(test)]\nmod tests {{\n    {effect}}}\n")),
        0
    );
    assert_eq!(
        found(&format!(
            "#[cfg(test)]\nmod tests {{\n    {effect}}}\n{effect}"
        )),
        1
    );
    assert_eq!(found(&format!("// {effect}")), 0);
}

#[test]
fn files_and_functions_stay_small() {
    for path in DISPATCHERS {
        assert!(repository().join(path).exists(), "{path} is gone");
    }
    let mut findings = Vec::new();
    for source in rust_sources() {
        let lines = source.text.lines().count();
        let is_dispatcher = DISPATCHERS.contains(&source.path.as_str());
        if lines > FILE_LINES_MAX || (is_dispatcher && lines > DISPATCHER_LINES_MAX) {
            findings.push(format!("{}: {lines} lines", source.path));
        }
        for function in functions(&source.text) {
            if function.lines > FUNCTION_LINES_MAX {
                findings.push(format!(
                    "{}:{}: {} lines",
                    source.path, function.first_line, function.lines
                ));
            }
        }
    }
    assert!(findings.is_empty(), "too large:\n{}", findings.join("\n"));
}

#[test]
fn every_file_says_what_it_is() {
    let silent = |source: &Source| !source.text.trim_start().starts_with("//!");
    let findings: Vec<String> = rust_sources()
        .filter(silent)
        .map(|source| source.path)
        .collect();
    assert!(
        findings.is_empty(),
        "no //! first line:\n{}",
        findings.join("\n")
    );
}

#[test]
fn every_file_is_compiled() {
    let metadata = cargo_metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let targets = packages.iter().filter_map(|one| one["targets"].as_array());
    let roots = targets
        .flatten()
        .filter_map(|one| one["src_path"].as_str())
        .map(Path::new);
    let root = repository();
    let roots: BTreeSet<&Path> = roots.filter_map(|it| it.strip_prefix(&root).ok()).collect();
    let sources: Vec<Source> = rust_sources().collect();
    let is_module = |path: &Path| {
        let folder = path.parent().expect("a folder");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let declaration = format!("mod {name};");
        let may_declare = |other: &Path| {
            other.parent() == Some(folder) || other.with_extension("").as_path() == folder
        };
        let mut near = sources
            .iter()
            .filter(|one| may_declare(Path::new(&one.path)));
        near.any(|one| one.text.lines().any(|line| line.ends_with(&declaration)))
    };
    for source in &sources {
        let path = Path::new(&source.path);
        assert!(
            roots.contains(path) || is_module(path),
            "{} is no module of any file",
            source.path
        );
    }
}

#[test]
fn decisions_have_the_titles_that_the_index_gives_them() {
    let folder = repository().join("docs/decisions");
    let index = std::fs::read_to_string(folder.join("README.md")).expect("the index");
    let lines = index.lines().filter(|line| line.starts_with('['));
    let mut listed = BTreeSet::from(["README.md".to_owned()]);
    for line in lines {
        let (number, rest) = line[1..].split_once("](").expect("a link");
        let (file, title) = rest.split_once(") ").expect("a title");
        let title = title.trim_end_matches(" \u{b7}");
        let decision = std::fs::read_to_string(folder.join(file)).expect(file);
        let heading = decision.lines().next().unwrap_or_default();
        // In the index a title stands in the middle of a line, and begins with a small letter.
        let expected = format!("# {number}. {title}");
        assert!(heading.eq_ignore_ascii_case(&expected), "{file}: {heading}");
        listed.insert(file.to_owned());
    }
    let names = std::fs::read_dir(&folder).expect("the folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let found = names.map(|name| name.into_string().expect("a name"));
    assert_eq!(found.collect::<BTreeSet<_>>(), listed);
}

#[test]
fn sources_are_ascii() {
    for source in rust_sources() {
        let odd = source.text.lines().position(|line| !line.is_ascii());
        assert_eq!(odd, None, "{} holds a character outside ASCII", source.path);
    }
}

#[test]
fn the_readme_gives_the_crates_of_its_examples_as_they_are_built_here() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).expect("there");
    let (readme, built) = (
        read("README.md"),
        ["Cargo.toml", "bin/Cargo.toml"].map(read),
    );
    for name in ["k8s-openapi = ", "kube = "] {
        let mut lines = readme.lines();
        let given = lines.find(|line| line.starts_with(name)).expect(name);
        let is_built = built
            .iter()
            .any(|manifest| manifest.lines().any(|line| line == given));
        assert!(is_built, "{given}");
    }
}

#[test]
fn the_rules_that_mutants_turn_round_are_where_the_list_says() {
    let list = std::fs::read_to_string(repository().join("tests/mutants/list")).expect("the list");
    let mut names = BTreeSet::new();
    for record in list.split("\n\n") {
        let lines = |mark| {
            record
                .lines()
                .filter_map(move |line| line.strip_prefix(mark))
        };
        let is_head = |line: &&str| !line.starts_with(['#', '-', '+']);
        let Some(head) = record.lines().find(is_head) else {
            continue;
        };
        let mut words = head.split(' ');
        let (name, file) = words.next().zip(words.next()).expect("a name and a file");
        let old: Vec<&str> = lines('-').collect();
        let [before, replaced, after] = marked(&old.join("\n"));
        let old = format!("{before}{replaced}{after}");
        let text = std::fs::read_to_string(repository().join(file)).expect(file);
        assert_eq!(text.matches(&old).count(), 1, "{name}: {old} in {file}");
        assert!(is_whole(&replaced), "{name}: {replaced} is no expression");
        assert!(lines('+').next().is_some(), "{name} changes nothing");
        assert!(
            names.insert(name.to_owned()),
            "two mutants are named {name}"
        );
    }
    assert!(names.len() > 100, "only {} mutants", names.len());
}

/// Splits a text into what is before the mark `[[ ]]`, in it and after it, as `tests/mutants/run`
/// does.
fn marked(text: &str) -> [String; 3] {
    let (before, rest) = text.split_once("[[").unwrap_or(("", text));
    let (replaced, after) = match rest.split_once("]]") {
        Some(found) if text.contains("[[") => found,
        _ => (rest, ""),
    };
    [before, replaced, after].map(str::to_owned)
}

/// Whether there are as many closing brackets as opening ones.
fn is_whole(expression: &str) -> bool {
    ["()", "[]", "{}"].iter().all(|pair| {
        let (open, close) = pair.split_at(1);
        expression.matches(open).count() == expression.matches(close).count()
    })
}

fn cargo_metadata() -> serde_json::Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata failed");
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Production dependencies of a package, by name.
fn dependencies(metadata: &serde_json::Value, package: &str) -> BTreeSet<String> {
    let packages = metadata["packages"].as_array().expect("packages");
    let found = packages.iter().find(|one| one["name"] == package);
    let found = found.unwrap_or_else(|| panic!("no package {package}"));
    let all = found["dependencies"].as_array().expect("dependencies");
    all.iter()
        .filter(|one| one["kind"].is_null())
        .map(|one| one["name"].as_str().expect("a name").to_owned())
        .collect()
}
