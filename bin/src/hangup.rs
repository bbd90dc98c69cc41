//! The signal of a terminal that was closed. `nohup` and others have it ignored, and then it stays ignored.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the system says about this process.
const STATUS: &str = "/proc/self/status";
/// Precedes the signals that are ignored, a bit for each, in hexadecimal.
const IGNORED: &str = "SigIgn:";

/// Watches for SIGHUP from now on; `None` if it is ignored, or if that cannot be found out: watching would end
/// that.
pub(crate) fn watch() -> io::Result<Option<Signal>> {
    let status = std::fs::read_to_string(STATUS).unwrap_or_default();
    if is_ignored(&status, SignalKind::hangup()) != Some(false) {
        return Ok(None);
    }
    signal(SignalKind::hangup()).map(Some)
}

/// Resolves when the signal comes.
pub(crate) async fn next(watched: &mut Option<Signal>) {
    let received = match watched {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        std::future::pending::<()>().await;
    }
}

/// Whether a signal is ignored; `None` if the status does not say so.
fn is_ignored(status: &str, kind: SignalKind) -> Option<bool> {
    let mut lines = status.lines();
    let bits = lines.find_map(|line| line.strip_prefix(IGNORED))?;
    let bits = u64::from_str_radix(bits.trim(), 16).ok()?;
    let place = u32::try_from(kind.as_raw_value()).ok()?.checked_sub(1)?;
    Some(bits.checked_shr(place)? & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_ignored_if_its_bit_is_set() {
        let hangup = SignalKind::hangup();
        for (status, expected) in [
            ("Name:\thindsight\nSigIgn:\t0000000000001000\n", Some(false)),
            (
                "SigQ:\t1/2\nSigIgn:\t0000000000001001\nSigCgt:\t0\n",
                Some(true),
            ),
            ("SigIgn:\tnothing\n", None),
            ("", None),
        ] {
            assert_eq!(is_ignored(status, hangup), expected, "{status}");
        }
        let pipe = SignalKind::pipe();
        let status = std::fs::read_to_string(STATUS).expect("readable");
        assert_eq!(is_ignored(&status, pipe), Some(true), "by the runtime");
    }
}
