//! Clients that may be gone without a word.

use super::*;

#[test]
fn a_client_that_may_be_gone_without_a_word_is_asked() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (_client, (accepted, _)) = (client.expect("connected"), accepted.expect("accepted"));
        let socket = SockRef::from(&accepted);
        // As the settings of a system may be, which are often the same as these.
        let others = TcpKeepalive::new().with_time(KEEPALIVE_AFTER * 2);
        let others = others.with_interval(KEEPALIVE_EVERY * 2);
        let others = others.with_retries(KEEPALIVE_QUESTIONS + 1);
        socket.set_tcp_keepalive(&others).expect("set");
        socket.set_keepalive(false).expect("set");
        prepare(&accepted).expect("prepared");
        assert!(socket.keepalive().expect("an option"));
        let after = socket.tcp_keepalive_time().expect("an option");
        assert_eq!(after, KEEPALIVE_AFTER);
        let every = socket.tcp_keepalive_interval().expect("an option");
        assert_eq!(every, KEEPALIVE_EVERY);
        let questions = socket.tcp_keepalive_retries().expect("an option");
        assert_eq!(questions, KEEPALIVE_QUESTIONS);
    });
}

/// What the kernel waits for on the connection between these two ports of IPv4, at the side of the first, as
/// Linux tells it: 02 is the time to ask the other side.
#[cfg(target_os = "linux")]
fn timer(own: u16, other: u16) -> Option<String> {
    let table = std::fs::read_to_string("/proc/self/net/tcp").expect("connections");
    let is_of = |address: &str, port: u16| address.ends_with(&format!(":{port:04X}"));
    table.lines().find_map(|row| {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let is_it = is_of(columns[1], own) && is_of(columns[2], other);
        let (timer, _) = columns[5].split_once(':')?;
        is_it.then(|| timer.to_owned())
    })
}

#[cfg(target_os = "linux")]
#[test]
fn every_client_that_was_let_in_is_one_that_will_be_asked() {
    served(Timeouts::default(), async |peer, _| {
        for protocol in ["http/1.1", "h2"] {
            let stream = peer.connect(protocol).await;
            let client = stream.get_ref().0.local_addr().expect("an address");
            // What the server has sent has to be acknowledged first.
            let will_be_asked = async {
                while timer(peer.address.port(), client.port()).as_deref() != Some("02") {
                    tokio::time::sleep(SHORT).await;
                }
            };
            let in_time = timeout(PATIENCE, will_be_asked).await;
            in_time.expect("it will be asked");
        }
    });
}
