//! The figures of these limits that the documentation gives.

use super::*;

#[test]
fn the_page_about_faults_gives_the_limits_of_connections() {
    let page = include_str!("../../../../../docs/reliability.md");
    let page: Vec<&str> = page.split_whitespace().collect();
    let page = page.join(" ");
    let timeouts = Timeouts::default();
    for (limit, seconds, text) in [
        (
            timeouts.handshake,
            10,
            "after 10 seconds without a TLS handshake",
        ),
        (timeouts.first, 32, "after 32 without a first request"),
        (timeouts.idle, 90, "after 90 without another one"),
        (timeouts.body, 30, "| time for a body to arrive | 30 s |"),
        (timeouts.taking, 30, "a finished answer within 30 seconds"),
        (
            timeouts.unauthenticated,
            60,
            "closed after a minute if neither",
        ),
        (
            timeouts.ending,
            10,
            "before it knew of this has ten seconds to end",
        ),
        (
            timeouts.ending,
            10,
            "waits up to ten seconds for other requests",
        ),
        (KEEPALIVE_AFTER, 180, "nothing has come for three minutes"),
        (KEEPALIVE_EVERY, 15, "TCP asks every 15 seconds"),
    ] {
        assert_eq!(limit, Duration::from_secs(seconds), "{text}");
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(KEEPALIVE_QUESTIONS, 9);
    assert!(page.contains("gives up after nine questions"));
    let all = KEEPALIVE_AFTER + KEEPALIVE_EVERY * KEEPALIVE_QUESTIONS;
    assert!(page.contains("noticed after about five minutes") && all.as_secs() / 60 == 5);
    let limits = Limits::default();
    assert_eq!((limits.unauthenticated, limits.connections), (1_024, 8_192));
    assert!(page.contains("get 1,024 of the 8,192 connection slots"));
}
