//! Servers that hang or end, and one that takes its time.

use super::*;
use crate::testing::{NO_FILES, Put, in_time};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// How often a slow server is asked whether it is alive before it answers.
const ASKED: usize = 3;
const HANGS: Timeouts = Timeouts {
    connect: Duration::from_millis(500),
    silence: Duration::from_millis(5),
};

/// What a server does when it is asked.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Accepts connections, and shakes no hands.
    Nothing,
    /// Shakes hands, and sends nothing more.
    ShakesHands,
    /// Sends half of an answer.
    Half,
    /// Sends half of an answer, and goes without a word.
    Ends,
    /// Goes before it has sent anything.
    EndsAtOnce,
    /// Sends half of it at once and the rest late, and answers meanwhile that it is alive.
    Late,
}

/// A server in a thread that ends with the process, and its client.
struct Fake {
    client: Client,
    _directory: tempfile::TempDir,
}

impl Fake {
    fn start(does: Does, timeouts: Timeouts) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".into()]).expect("made");
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let data = |text: &str| BASE64_STANDARD.encode(text);
        let kubeconfig = serde_json::json!({
            "clusters": [{"cluster": {"certificate-authority-data": data(&certificate)}}],
            "users": [{"user": {"client-certificate-data": data(&certificate),
                "client-key-data": data(&key)}}],
        });
        let path = directory.path().join("admin.kubeconfig");
        std::fs::write(path, kubeconfig.to_string()).expect("written");
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let mut client = Client::new(directory.path(), "process 7", &address);
        client.timeouts = timeouts;
        let config = config(&certificate, &key);
        std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.map(|one| one.block_on(serve(listener, config, does)))
        });
        Self {
            client,
            _directory: directory,
        }
    }
}

fn config(certificate: &str, key: &str) -> rustls::ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("a certificate")], key)
        .expect("they fit")
}

async fn serve(listener: std::net::TcpListener, config: rustls::ServerConfig, does: Does) {
    listener.set_nonblocking(true).expect("set");
    let listener = TcpListener::from_std(listener).expect("a listener");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let lived = Arc::new(AtomicUsize::new(0));
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        if matches!(does, Does::Nothing) {
            held.push(stream);
            continue;
        }
        let (acceptor, lived) = (acceptor.clone(), Arc::clone(&lived));
        tokio::spawn(async move {
            let mut stream = acceptor.accept(stream).await?;
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await?;
            let is_probe = head
                .get(..length)
                .is_some_and(|head| head.starts_with(b"GET /livez"));
            let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n1234";
            let (half, rest) = whole.split_at(whole.len() - 2);
            match does {
                Does::Late if is_probe => {
                    lived.fetch_add(1, Ordering::Relaxed);
                    stream.write_all(whole.as_bytes()).await?;
                }
                Does::Late => {
                    stream.write_all(half.as_bytes()).await?;
                    while lived.load(Ordering::Relaxed) < ASKED {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    stream.write_all(rest.as_bytes()).await?;
                }
                Does::Ends => return stream.write_all(half.as_bytes()).await,
                Does::EndsAtOnce => return Ok(()),
                Does::Half if !is_probe => stream.write_all(half.as_bytes()).await?,
                Does::Half | Does::Nothing | Does::ShakesHands => {}
            }
            std::future::pending::<io::Result<()>>().await
        });
    }
}

#[test]
fn a_server_that_hangs_ends_the_question_and_is_named() {
    for does in [Does::Nothing, Does::ShakesHands, Does::Half] {
        let fake = Fake::start(does, HANGS);
        let asked = fake.client.ask::<u64>("/x").expect_err("it hangs");
        let downloaded = fake.client.download("/x").and_then(|mut download| {
            let mut bytes = Vec::new();
            Ok(download.read_to_end(&mut bytes)?)
        });
        for error in [asked, downloaded.expect_err("it hangs")] {
            let said = format!("{error:#}");
            assert!(said.contains("(process 7, https://127"), "{does:?}: {said}");
            assert!(said.contains("does not answer"), "{does:?}: {said}");
        }
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_in_words_and_may_come_back() {
    for does in [Does::Ends, Does::EndsAtOnce] {
        let fake = Fake::start(does, TIMEOUTS);
        let error = fake.client.ask::<u64>("/x").expect_err("it ends");
        let said = format!("{error:#}");
        let expected = "the server ended before the answer was complete; ask again";
        assert_eq!(said, expected, "{does:?}");
        assert!(Client::is_unreachable(&error), "{does:?}");
        let downloaded = fake.client.download("/x").and_then(|mut download| {
            let mut bytes = Vec::new();
            Ok(download.read_to_end(&mut bytes)?)
        });
        let said = format!("{:#}", downloaded.expect_err("it ends"));
        let expected = match does {
            Does::Ends => {
                "the server ended, or cut it off because it was not read fast enough; try again"
            }
            _ => expected,
        };
        assert!(said.contains(expected), "{does:?}: {said}");
    }
}

#[test]
fn a_server_that_lives_has_all_the_time_that_it_needs() {
    let timeouts = Timeouts {
        connect: Duration::from_mins(1),
        ..HANGS
    };
    let fake = Fake::start(Does::Late, timeouts);
    assert_eq!(fake.client.ask::<u64>("/x").expect("an answer"), 1234);
    let fake = Fake::start(Does::Late, timeouts);
    let mut text = String::new();
    let mut download = fake.client.download("/x").expect("it begins");
    download.read_to_string(&mut text).expect("it ends");
    assert_eq!(text, "1234");
}

#[test]
fn a_server_is_unreachable_if_nothing_listens_and_not_if_the_question_is_at_fault() {
    let fake = Fake::start(Does::ShakesHands, HANGS);
    let other = Fake::start(Does::ShakesHands, HANGS);
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    let asked = |directory: &Path, address: &str| {
        let client = Client::new(directory, "process 7", address);
        client.ask::<u64>("/x").expect_err("there is no answer")
    };
    let directory = fake.client.data_dir.as_path();
    let refused = asked(directory, &address);
    assert!(Client::is_unreachable(&refused), "{refused:#}");
    let away = Client::new(directory, "process 7", &address);
    assert!(away.is_gone() && !fake.client.is_gone());
    let elsewhere = asked(&directory.join("none"), &fake.client.address);
    assert!(!Client::is_unreachable(&elsewhere), "{elsewhere:#}");
    let unbelieved = asked(directory, &other.client.address);
    assert!(!Client::is_unreachable(&unbelieved), "{unbelieved:#}");
    assert!(
        format!("{unbelieved:#}").contains("certificate"),
        "{unbelieved:#}"
    );
}

#[test]
fn what_is_no_kubeconfig_is_not_read_and_the_refusal_says_what_to_do() {
    let aside = "cannot be read; move it aside and restart the server, which writes it again";
    let foreign = "is not the kubeconfig that the server wrote; move it aside and restart";
    let others: [(Put, &str); 3] = [
        (|at| std::fs::write(at, "{").expect("written"), foreign),
        (
            |at| std::fs::write(at, "kind: Config").expect("written"),
            foreign,
        ),
        (|_| {}, "cannot be read; put it back, or restart the server"),
    ];
    for (put, advice) in NO_FILES.map(|put| (put, aside)).into_iter().chain(others) {
        let temporary = tempfile::tempdir().expect("a directory");
        let file = temporary.path().join("admin.kubeconfig");
        put(&file);
        let refused = in_time(move || administrator(&file).expect_err("it is refused"));
        let said = format!("{refused:#}");
        assert!(
            said.contains("admin.kubeconfig ") && said.contains(advice),
            "{said}"
        );
    }
    let denied = unread(Path::new("file"), ErrorKind::PermissionDenied.into());
    assert!(
        denied
            .to_string()
            .ends_with("; ask as the user that the server runs as"),
        "{denied}"
    );
}
