//! A real server process on a data directory of its own, and the clients that talk to it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A running `hindsight serve`. Killed when dropped.
#[derive(Debug)]
pub struct Server {
    process: Child,
    directory: PathBuf,
    /// The line that it printed when it became ready.
    pub ready: String,
    /// Its directory, if it is removed with the server.
    temporary: Option<tempfile::TempDir>,
}

/// The path of a binary that was built for this test run.
pub fn binary(name: &str) -> PathBuf {
    let mut folder = std::env::current_exe().expect("the test's own path");
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let path = folder.join(name);
    assert!(
        path.exists(),
        "{} is missing: run `cargo build --workspace` first",
        path.display()
    );
    path
}

impl Server {
    /// Starts on a fresh directory and waits until it reports that it is ready.
    pub fn start() -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let directory = temporary.path().join("data");
        let mut server = Self::start_on(&directory);
        server.temporary = Some(temporary);
        server
    }

    /// Starts on a directory that the caller keeps.
    pub fn start_on(directory: &Path) -> Self {
        let mut command = serve(directory);
        command.stderr(Stdio::inherit());
        Self::start_with(command, directory)
            .unwrap_or_else(|ended| panic!("the server did not start: {:?}", ended.status))
    }

    /// The same with standard error kept for [`Self::ended`]; an error is the output of a server that
    /// ended before it was ready.
    pub fn try_start_on(directory: &Path) -> Result<Self, Output> {
        let mut command = serve(directory);
        command.stderr(Stdio::piped());
        Self::start_with(command, directory)
    }

    /// Starts a command that runs `hindsight serve` on this directory; an error is its output, if it
    /// ended before it was ready.
    pub fn start_with(mut command: Command, directory: &Path) -> Result<Self, Output> {
        let mut process = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("hindsight serve starts");
        let stdout = process.stdout.take().expect("a pipe");
        let mut lines = BufReader::new(stdout);
        let mut ready = String::new();
        lines.read_line(&mut ready).ok();
        if !ready.contains("ready") {
            return Err(process.wait_with_output().expect("the server ends"));
        }
        std::thread::spawn(move || lines.read_to_end(&mut Vec::new()));
        Ok(Self {
            process,
            directory: directory.to_owned(),
            ready,
            temporary: None,
        })
    }

    /// The data directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("admin.kubeconfig")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal by name.
    pub fn send(&self, name: &str) {
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &self.pid().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Sends a signal by name, waits for the end and returns the exit code, if there is one.
    pub fn signal(mut self, name: &str) -> Option<i32> {
        self.send(name);
        self.process.wait().expect("the server ends").code()
    }

    /// Waits until it ends by itself; returns its exit code, and its standard error if that is piped.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let mut said = Vec::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            stderr.read_to_end(&mut said).expect("readable");
        }
        let status = self.process.wait().expect("the server ends");
        (status.code(), text(&said))
    }

    /// Runs kubectl as the administrator; panics with its output if it fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// The UID of an object given as `kind/name`.
    pub fn uid(&self, object: &str) -> String {
        self.kubectl(&["get", object, "-o", "jsonpath={.metadata.uid}"])
    }

    /// Runs kubectl with a manifest on standard input.
    pub fn kubectl_with(&self, arguments: &[&str], manifest: &str) -> String {
        let output = self.try_kubectl(arguments, manifest);
        assert!(
            output.status.success(),
            "kubectl {arguments:?} failed:\n{}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// Creates the definition `widgets.example.com` and waits until it is served.
    pub fn define(&self, definition: &str) {
        self.kubectl_with(&["apply", "-f", "-"], definition);
        let established = "--for=condition=Established";
        self.kubectl(&["wait", "crd/widgets.example.com", established]);
    }

    /// Runs kubectl and returns its error text; panics if it succeeds.
    pub fn kubectl_fails(&self, arguments: &[&str], manifest: &str) -> String {
        let output = self.try_kubectl(arguments, manifest);
        assert!(
            !output.status.success(),
            "kubectl {arguments:?} should have failed"
        );
        text(&output.stderr)
    }

    /// Runs kubectl, whether it succeeds or fails.
    pub fn try_kubectl(&self, arguments: &[&str], manifest: &str) -> Output {
        let mut command = Command::new("kubectl");
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .arg("--cache-dir")
            .arg(self.directory.join("kubectl-cache"))
            .args(arguments);
        run(command, manifest)
    }

    /// Runs another subcommand of the program on this server's directory.
    pub fn hindsight(&self, arguments: &[&str]) -> Output {
        hindsight(&self.directory, arguments)
    }
}

/// A kubeconfig for the server of another one, and for the bearer of a token, without a certificate.
pub fn kubeconfig_with_token(kubeconfig: &Path, token: &str) -> String {
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig").arg(kubeconfig);
    command.args(["config", "view", "--raw", "-o", "json"]);
    let mut config: Value = serde_json::from_str(&stdout(&run(command, ""))).expect("JSON");
    config["users"][0]["user"] = json!({"token": token});
    let path = kubeconfig.with_extension("token");
    std::fs::write(&path, config.to_string()).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.kill().is_ok() {
            self.process.wait().ok();
        }
        drop(self.temporary.take());
    }
}

/// `hindsight serve`, started by a shell that lowers a limit first.
pub fn limited(directory: &Path, limit: &str) -> Command {
    let served = serve(directory);
    let mut command = Command::new("sh");
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &script])
        .arg(served.get_program())
        .args(served.get_args());
    command
}

/// `hindsight serve` on this directory and a free port.
pub fn serve(directory: &Path) -> Command {
    let mut command = Command::new(binary("hindsight"));
    command
        .arg("serve")
        .arg("--data-dir")
        .arg(directory)
        .args(["--listen", "127.0.0.1:0"]);
    command
}

/// Runs a subcommand of the program on this directory.
pub fn hindsight(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("hindsight"));
    command.args(arguments).arg("--data-dir").arg(directory);
    run(command, "")
}

/// Standard output of a run that must succeed.
pub fn stdout(output: &Output) -> String {
    assert!(
        output.status.success(),
        "failed:\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Output as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(mut command: Command, input: &str) -> Output {
    use std::io::Write;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).ok());
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    output
}
