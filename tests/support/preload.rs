//! Libraries that are preloaded into the program, and have some calls of the system's library do something else.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the C source of one, given as a path below `tests`, into a folder; `None` if there is no C compiler.
pub fn library(source: &str, folder: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let library = folder.join("preloaded.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    let made = compiler.arg(source).arg("-ldl").status();
    made.is_ok_and(|status| status.success()).then_some(library)
}
