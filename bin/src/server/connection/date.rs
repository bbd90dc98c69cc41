//! The `Date` of answers. The HTTP library's own stands still after the clock was set back, until that has caught up.

use chrono::DateTime;
use hindsight_core::Time;
use http::header::DATE;
use http::{HeaderMap, HeaderValue};
use std::cell::RefCell;

const MICROS: i64 = 1_000_000;

thread_local! {
    /// The last second that this thread has written, and how.
    static LAST: RefCell<Option<(i64, HeaderValue)>> = const { RefCell::new(None) };
}

/// Says that an answer is of this time. Source: RFC 9110, section 6.6.1.
pub(super) fn stamp(headers: &mut HeaderMap, now: Time) {
    let second = now.0.div_euclid(MICROS);
    let written = LAST.with_borrow_mut(|last| match last {
        Some((of, written)) if *of == second => Some(written.clone()),
        _ => {
            let made = written(second)?;
            *last = Some((second, made.clone()));
            Some(made)
        }
    });
    if let Some(written) = written {
        headers.insert(DATE, written);
    }
}

fn written(second: i64) -> Option<HeaderValue> {
    let time = DateTime::from_timestamp(second, 0)?;
    let text = time.format("%a, %d %b %Y %H:%M:%S GMT").to_string();
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_date_of_its_time_also_after_the_clock_went_back() {
        let mut headers = HeaderMap::new();
        for (second, expected) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_778, "Sun, 06 Nov 1994 08:49:38 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        ] {
            stamp(&mut headers, Time(second * MICROS + 1));
            assert_eq!(headers[DATE], expected);
        }
    }
}
