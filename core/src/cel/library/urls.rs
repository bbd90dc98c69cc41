//! Functions of URLs. Source: `k8s.io/apiserver/pkg/cel/library/urls.go`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::go::url::{self, Url};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

/// How many times the length of a text is paid for when it becomes a URL: it is read twice, and kept
/// in parts and as a whole, each up to three times as long when escaped.
const COPIES: usize = 8;

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        ("url(string) kubernetes.URL", |meter, given| {
            let text = text(given)?;
            meter.text(text.len().saturating_mul(COPIES))?;
            let parsed = url::parse(text).map_err(|why| {
                Fault::failed(format!(
                    "URL parse error during conversion from string: {why}"
                ))
            })?;
            Ok(Value::Url(Arc::new(parsed)))
        }),
        ("isURL(string) bool", |meter, given| {
            let text = text(given)?;
            meter.text(text.len().saturating_mul(COPIES / 2))?;
            Ok(Value::Bool(url::check(text).is_ok()))
        }),
        ("kubernetes.URL.getScheme() string", |_, given| {
            one(given).map(|url| Value::text(Arc::clone(&url.scheme)))
        }),
        ("kubernetes.URL.getHost() string", |_, given| {
            one(given).map(|url| Value::text(Arc::clone(&url.host)))
        }),
        ("kubernetes.URL.getHostname() string", |meter, given| {
            let url = one(given)?;
            meter.text(url.host.len())?;
            Ok(Value::text(url.host_and_port().0))
        }),
        ("kubernetes.URL.getPort() string", |meter, given| {
            let url = one(given)?;
            meter.text(url.host.len())?;
            Ok(Value::text(url.host_and_port().1))
        }),
        ("kubernetes.URL.getEscapedPath() string", |_, given| {
            one(given).map(|url| Value::text(Arc::clone(&url.path)))
        }),
        ("kubernetes.URL.getQuery() map(string,list(string))", query),
    ]
}

fn text<'b>(given: &'b [Value<'_>]) -> Result<&'b str> {
    match given {
        [Value::Text(text)] => Ok(text.as_str()),
        _ => Err(Fault::no_overload()),
    }
}

fn one<'b>(given: &'b [Value<'_>]) -> Result<&'b Url> {
    match given {
        [Value::Url(url)] => Ok(url),
        _ => Err(Fault::no_overload()),
    }
}

/// The parameters. Each pays for its place, however short it is, and for its name, which is compared
/// with others.
fn query<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let url = one(given)?;
    let parameters = url.query.split('&').count();
    meter.spend(parameters as u64)?;
    meter.text(url.query.len().saturating_mul(COPIES))?;
    let all = url.parameters().into_iter();
    let all = all.map(|(key, values)| {
        let values = values.into_iter().map(Value::text).collect();
        (Value::text(key), Value::list(values))
    });
    Ok(Value::Map(Arc::new(all.collect())))
}
