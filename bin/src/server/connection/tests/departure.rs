//! Clients that leave before their answer has ended, or send nothing more than their request.

use super::*;

/// What is sent at once, and once the watch has begun.
const MORE_THAN_A_WATCH: [[&str; 2]; 4] = [["\r\n", ""], [PROBE, ""], ["", "\r\n"], ["", PROBE]];
/// A version ahead of this server: it waits for three seconds before it refuses.
const SLOW: &str = "GET /api/v1/namespaces?resourceVersion=99999 HTTP/1.1\r\nhost: a\r\n\r\n";

#[test]
fn a_watch_whose_client_has_sent_more_ends_once_that_is_gone_and_not_before() {
    served(Timeouts::default(), async |peer, plane| {
        let mut watches = Vec::new();
        for [at_once, later] in MORE_THAN_A_WATCH {
            let mut stays = peer.connect("http/1.1").await;
            let mut leaves = peer.connect("http/1.1").await;
            for watch in [&mut stays, &mut leaves] {
                let sent = format!("{WATCH}{at_once}");
                watch.write_all(sent.as_bytes()).await.expect("sent");
                read(watch, "kube-system").await;
                watch.write_all(later.as_bytes()).await.expect("sent");
                watch.flush().await.expect("sent");
            }
            leaves.shutdown().await.expect("it sends no more");
            watches.push((stays, leaves));
        }
        for (_, leaves) in &mut watches {
            read(leaves, "").await;
        }
        create(&plane, "late").await;
        for (stays, _) in &mut watches {
            let said = read(stays, "late").await;
            assert!(said.contains("late"), "{said}");
        }
    });
}

#[test]
fn a_client_that_has_ended_what_it_sends_is_answered() {
    served(Timeouts::default(), async |peer, _| {
        let mut stream = peer.connect("http/1.1").await;
        let sent = format!("{SLOW}\r\n");
        stream.write_all(sent.as_bytes()).await.expect("sent");
        stream.shutdown().await.expect("it sends no more");
        let said = read(&mut stream, "").await;
        assert!(said.starts_with("HTTP/1.1 504"), "{said}");
    });
}
