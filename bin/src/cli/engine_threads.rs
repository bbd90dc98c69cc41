//! The storage engine's own threads. After a panic of one, the write that waits for it never returns, and neither
//! does any other: the process ends instead, and the disk decides at the next start. A panic by which the engine
//! fails to close is no panic to whoever closes it.

use crate::hint::{error, is_logged};
use hindsight_log::is_closing_engine;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

/// What the names of sled's threads begin with (`sled::threadpool`).
const NAME: &str = "sled-io-";

/// From now on, a panic on a thread of the engine ends the process. What is acknowledged is synced before, and the
/// engine writes nothing more. What becomes an error or a warning is not told as a panic. The others are told as Rust
/// does it, and in a log in JSON as one entry.
#[expect(
    clippy::exit,
    reason = "nothing else would end a process whose writes wait for ever"
)]
pub(crate) fn panics_end_the_process() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if is_closing_engine() {
            return;
        }
        if is_logged() {
            error(&described(panic));
        } else {
            print(panic);
        }
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.starts_with(NAME)) {
            error(
                "the storage engine panicked on one of its own threads: nothing more can be written, and the process \
                 ends. Every write that was answered is fsynced; start the server again, and keep a copy of the \
                 directory first if it ends again",
            );
            std::process::exit(1);
        }
    }));
}

/// What the hook of the standard library prints: the thread, the place, the message, and the backtrace if one is
/// wanted.
fn described(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let told = format!("thread '{name}' {panic}");
    let backtrace = Backtrace::capture();
    if backtrace.status() != BacktraceStatus::Captured {
        return told;
    }
    format!("{told}\nstack backtrace:\n{backtrace}")
}

#[cfg(test)]
mod tests {
    use super::super::logging::{LogFormat, of_server};
    use super::*;
    use crate::{Config, ControlPlane};
    use serde_json::Value;
    use std::process::{Command, Output};

    /// Set in the process in which a thread of this name is to panic.
    const CHILD: &str = "HINDSIGHT_TEST_ENGINE_PANICS";

    const TESTS: &str = "cli::engine_threads::tests";

    /// The names of the threads of this process.
    fn threads() -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| {
            let name = std::fs::read_to_string(task.unwrap().path().join("comm"));
            name.ok()
        });
        names.map(|name| name.trim().into()).collect()
    }

    /// Lets a thread of this name panic.
    fn panic_on(name: &str) {
        panics_end_the_process();
        let panics = std::thread::Builder::new().name(name.into());
        panics.spawn(|| panic!("a defect")).unwrap().join().ok();
    }

    /// A process that runs this test, in which a thread of this name panics.
    fn child(test: &str, thread: &str) -> Output {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &format!("{TESTS}::{test}"), "--nocapture"]);
        child
            .env("RUST_BACKTRACE", "1")
            .env_remove("RUST_LIB_BACKTRACE");
        child.env("RUST_LOG", "off").env(CHILD, thread);
        child.output().unwrap()
    }

    #[test]
    fn a_panic_on_a_thread_of_the_engine_ends_the_process() {
        if let Ok(name) = std::env::var(CHILD) {
            return panic_on(&name);
        }
        let directory = tempfile::tempdir().unwrap();
        let config = Config {
            data_dir: Some(directory.path().into()),
            ..Config::default()
        };
        let plane = ControlPlane::open(config).unwrap();
        let threads = threads();
        let engine = threads.iter().find(|name| name.starts_with(NAME));
        let engine = engine.expect("a thread of the engine");
        for (thread, code) in [(engine.as_str(), Some(1)), ("collectors", Some(0))] {
            let test = "a_panic_on_a_thread_of_the_engine_ends_the_process";
            let ended = child(test, thread);
            assert_eq!(ended.status.code(), code, "{thread}");
            let told =
                String::from_utf8_lossy(&ended.stderr).contains("the storage engine panicked");
            assert_eq!(told, code == Some(1), "{thread}");
        }
        drop(plane);
    }

    #[test]
    fn a_panic_is_an_entry_of_a_log_in_json() {
        if let Ok(name) = std::env::var(CHILD) {
            of_server(LogFormat::Json);
            return panic_on(&name);
        }
        for (thread, entries) in [("collectors", 1), ("sled-io-0", 2)] {
            let ended = child("a_panic_is_an_entry_of_a_log_in_json", thread);
            let said = String::from_utf8_lossy(&ended.stderr);
            let read = |line| serde_json::from_str(line).expect(line);
            let told: Vec<Value> = said.lines().map(read).collect();
            assert_eq!(told.len(), entries, "{said}");
            assert_eq!(told[0]["level"], "ERROR");
            let message = told[0]["fields"]["message"].as_str().unwrap();
            let place = format!("thread '{thread}' panicked at ");
            assert!(message.starts_with(&place), "{message}");
            for what in ["a defect", "stack backtrace:\n"] {
                assert!(message.contains(what), "{message}");
            }
        }
    }
}
