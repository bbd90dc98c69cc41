//! The storage engine's own threads. After a panic of one, the write that waits for it never returns, and neither
//! does any other: the process ends instead, and the disk decides at the next start. A panic by which the engine
//! fails to close is no panic to whoever closes it.

use crate::hint::error;
use hindsight_log::is_closing_engine;

/// What the names of sled's threads begin with (`sled::threadpool`).
const NAME: &str = "sled-io-";

/// From now on, a panic on a thread of the engine ends the process. What is acknowledged is synced before, and the
/// engine writes nothing more. What becomes an error or a warning is not told as a panic.
#[expect(
    clippy::exit,
    reason = "nothing else would end a process whose writes wait for ever"
)]
pub(crate) fn panics_end_the_process() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if is_closing_engine() {
            return;
        }
        told(panic);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, ControlPlane};
    use std::process::Command;

    /// Set in the process that is to end.
    const CHILD: &str = "HINDSIGHT_TEST_ENGINE_PANICS";

    const TEST: &str =
        "cli::engine_threads::tests::a_panic_on_a_thread_of_the_engine_ends_the_process";

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
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", TEST, "--nocapture"]);
            let ended = child.env(CHILD, thread).output().unwrap();
            assert_eq!(ended.status.code(), code, "{thread}");
            let told =
                String::from_utf8_lossy(&ended.stderr).contains("the storage engine panicked");
            assert_eq!(told, code == Some(1), "{thread}");
        }
        drop(plane);
    }
}
