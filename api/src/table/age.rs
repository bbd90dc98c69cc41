//! Durations as kubectl prints them. Source: apimachinery's `util/duration`.

use hindsight_core::Time;

/// How long ago that was.
pub(super) fn ago(then: Time, now: Time) -> String {
    human(now.0.saturating_sub(then.0) / 1_000_000)
}

/// Formats a duration in one or two units; the longer it is, the coarser. Less than two seconds in the future
/// are put down to clocks that differ.
pub(super) fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |large: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{rest}")
        }
    };
    match seconds {
        i64::MIN..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (700, "11m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (100_000, "27h"),
            (180_000, "2d2h"),
            (8_640_000, "100d"),
            (63_158_400, "2y1d"),
        ] {
            assert_eq!(human(seconds), text);
        }
    }
}
