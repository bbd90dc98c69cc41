//! Reads the repository's own sources, for the rules that hold for all of them.

use std::path::{Path, PathBuf};

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    /// Path from the repository's root.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// One function of a file.
#[derive(Debug)]
pub struct Function {
    /// Line of its signature, from 1.
    pub first_line: usize,
    /// Lines from signature to closing brace.
    pub lines: usize,
}

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace's root")
        .to_owned()
}

/// Every Rust file of the workspace's packages.
pub fn rust_sources() -> impl Iterator<Item = Source> {
    let root = repository();
    let mut folders: Vec<PathBuf> = [
        "core",
        "log",
        "projector",
        "gc-worker",
        "api",
        "bin",
        "tests",
        "benches",
    ]
    .iter()
    .map(|package| root.join(package))
    .collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 20, "the source tree was not found");
    files.sort();
    files.into_iter().map(move |path| Source {
        text: std::fs::read_to_string(&path).expect("UTF-8 source"),
        path: path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .display()
            .to_string(),
    })
}

/// The functions of a file, found by indentation, which rustfmt keeps regular.
pub fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        if !is_signature(body) {
            continue;
        }
        let rest = || lines.iter().skip(index);
        let opens = rest().position(|one| one.ends_with('{') || one.ends_with('}'));
        let declares = rest().position(|one| one.ends_with(';'));
        if declares.is_some_and(|at| opens.is_none_or(|opens| at < opens)) {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        if let Some(length) = rest().position(|one| *one == closing) {
            found.push(Function {
                first_line: index + 1,
                lines: length + 1,
            });
        }
    }
    found
}

fn is_signature(line: &str) -> bool {
    let words = ["pub ", "pub(crate) ", "pub(super) ", "const ", "async "];
    let mut rest = line;
    while let Some(next) = words.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = next;
    }
    rest.starts_with("fn ")
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn bodies_are_measured_and_declarations_are_not() {
        let text = "trait T {\n    fn a(\n        &self,\n    ) -> u8;\n}\nfn b() {\n    c();\n}\n";
        let found: Vec<(usize, usize)> = functions(text)
            .iter()
            .map(|one| (one.first_line, one.lines))
            .collect();
        assert_eq!(found, [(6, 3)]);
    }
}
