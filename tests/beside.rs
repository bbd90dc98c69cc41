//! Sends random histories to this control plane and to the cluster of `KUBECONFIG`, whose answers and
//! objects must be the same: `cargo beside`. It creates namespaces and priority classes of its own
//! there, `beside-*`, and removes them.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a tool tells what it does, and stops where it cannot"
)]

use hindsight_tests::beside::{Attempt, Counts, Patience, Server, compare, history};
use hindsight_tests::http::Answer;
use hindsight_tests::seeds::{Failure, Run, write};
use hindsight_tests::stage::Stage;
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Histories between two lines of the report.
const PART: u64 = 100;
const PATIENCE: Patience = Patience {
    to_agree: Duration::from_secs(30),
    to_stay: Duration::from_secs(2),
};

/// The most runs of a history that does not agree.
const ATTEMPTS: u16 = 4;

/// The cluster to compare with.
struct Cluster {
    client: kube::Client,
    runtime: Runtime,
}

impl Cluster {
    fn connect() -> Result<Self, String> {
        if std::env::var_os("KUBECONFIG").is_none() {
            return Err(
                "set KUBECONFIG to the cluster to compare with: it will be written to".into(),
            );
        }
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        let client = runtime.block_on(async { kube::Client::try_default().await });
        Ok(Self {
            client: client.map_err(|error| error.to_string())?,
            runtime,
        })
    }

    fn version(&self) -> Result<String, String> {
        let answer = self.ask("GET", "/version", "", "");
        let answer =
            answer.map_err(|why| format!("the cluster of KUBECONFIG does not answer: {why}"))?;
        let answer = answer.json();
        let version = answer.get("gitVersion").and_then(Value::as_str);
        Ok(version
            .ok_or("it does not say which version it is")?
            .to_owned())
    }

    fn ask(&self, method: &str, path: &str, media: &str, body: &str) -> Result<Answer, String> {
        let mut request = Request::builder().method(method).uri(path);
        if !media.is_empty() {
            request = request.header("content-type", media);
        }
        let request = request.body(Body::from(body.as_bytes().to_vec()));
        let request = request.map_err(|error| error.to_string())?;
        let answer = async {
            let response = self.client.send(request).await?;
            let code = response.status().as_u16();
            let body = response.into_body().collect().await?;
            Ok((code, body.to_bytes()))
        };
        let answer: Result<_, kube::Error> = self.runtime.block_on(answer);
        let (code, bytes) = answer.map_err(|error| error.to_string())?;
        Ok(Answer {
            code,
            text: String::from_utf8_lossy(&bytes).into_owned(),
            warnings: Vec::new(),
        })
    }
}

impl Server for Cluster {
    fn send(&mut self, method: &str, path: &str, media: &str, body: &str) -> Answer {
        self.ask(method, path, media, body)
            .unwrap_or_else(|why| panic!("{method} {path}: {why}"))
    }
}

fn main() -> ExitCode {
    let version = match Cluster::connect().and_then(|cluster| cluster.version()) {
        Ok(version) => version,
        Err(why) => {
            println!("{why}");
            return ExitCode::from(2);
        }
    };
    println!("beside Kubernetes {version}");
    let total = Mutex::new(Counts::default());
    let check = |seed| {
        let counts = attempts(seed)?;
        total.lock().expect("no thread panics").add(counts);
        Ok(())
    };
    let run = Run::from_environment("HINDSIGHT_HISTORIES", 1000);
    let code = run.as_program("beside", PART, &check);
    let counts = *total.lock().expect("no thread panics");
    let Counts {
        requests, objects, ..
    } = counts;
    println!("{requests} requests to each, {objects} objects compared; of the histories");
    println!(
        "{} ended early, where the other had not looked at who came to an owner that waited",
        counts.undecided
    );
    println!(
        "{} ended early, where the other had taken a chain for a cycle",
        counts.unblocked
    );
    println!(
        "{} were run again, because the other had come to another end by chance",
        counts.by_chance
    );
    code
}

/// Runs a history until one run agrees, several times at most: the other collector may see things in
/// another order each time.
fn attempts(seed: u64) -> Result<Counts, Failure> {
    let steps = history(seed);
    let mut failure = None;
    for number in 1..=ATTEMPTS {
        let (mut ours, mut theirs) = (
            Stage::new(false),
            Cluster::connect().expect("connected before"),
        );
        let attempt = Attempt { seed, number };
        match compare(attempt, &steps, (&mut ours, &mut theirs), PATIENCE) {
            Ok(mut counts) => {
                counts.by_chance = u64::from(number > 1);
                return Ok(counts);
            }
            Err(scenario) => failure = Some((write(seed, &scenario, "txt"), scenario)),
        }
    }
    let (path, scenario) = failure.expect("some attempts");
    Err(Failure {
        seed,
        why: "the two differ".into(),
        scenario,
        path,
    })
}
