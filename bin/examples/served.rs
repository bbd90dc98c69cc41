//! A control plane inside this process, whose API other programs reach at a port that this one serves. Run it with
//! `cargo run --example served`; with `cargo run --example served 127.0.0.1:8001` it goes on serving until Ctrl-C.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use hindsight::api::Bodies;
use hindsight::{Config, ControlPlane, Service};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

/// After a connection that could not be accepted: it may be for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// How much memory the bodies of requests may take, and answers that are not read: as `hindsight serve` has it.
const BODIES_BYTES_MAX: usize = 64 << 20;
/// How long the body of a request may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plane = spawn_blocking(|| ControlPlane::open(Config::default())).await??;
    let given = std::env::args().nth(1);
    // Whoever reaches the port is the administrator, so it must be one that only this machine reaches. A program that
    // knows who asks, by TLS or by a token, answers each request with `Service::as_actor`.
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let bodies = Bodies::bounded(BODIES_BYTES_MAX, ARRIVAL);
    let serving = tokio::spawn(serve(listener, plane.service().bounded(bodies)));
    println!("try: kubectl --server {url} get namespaces");
    if given.is_some() {
        tokio::signal::ctrl_c().await?;
    } else {
        ask(&url).await?;
    }
    serving.abort();
    // Ends what clients still watch, too.
    spawn_blocking(move || plane.close()).await?;
    Ok(())
}

/// Serves each connection in a task of its own, over HTTP/1 or HTTP/2, as the client begins.
async fn serve(listener: TcpListener, service: Service) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => TokioIo::new(stream),
            Err(error) => {
                println!("no connection: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(stream, service).await {
                println!("a connection ended: {error}");
            }
        });
    }
}

/// What any Kubernetes client does at this port.
async fn ask(url: &str) -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_from(kube::Config::new(url.parse()?))?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for namespace in namespaces.list(&ListParams::default()).await? {
        println!("served: namespace {}", namespace.name_any());
    }
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some("settings".into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let made = maps.create(&PostParams::default(), &map).await?;
    println!("made {} over HTTP", made.name_any());
    Ok(())
}
