//! Query parameters, decoded and checked.

use crate::path::unescaped;
use crate::status::Failure;
use hindsight_core::Revision;
use hindsight_core::command::FieldValidation;
use hindsight_core::rejection::FieldCause;
use hindsight_core::{duration, validate};
use std::num::{IntErrorKind, ParseIntError};
use std::time::Duration;

/// The options that creates, updates and patches have in common.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    /// `fieldManager` as it was sent; empty if it was not.
    pub(crate) manager: String,
    /// `fieldValidation`, if it was sent.
    pub(crate) validation: Option<FieldValidation>,
}

impl WriteOptions {
    /// What is done about unknown and repeated fields.
    pub(crate) fn validation(&self) -> FieldValidation {
        self.validation.unwrap_or_default()
    }
}

/// All parameters that any request reads. Others are not kept: a write holds its own while it waits for its body and
/// for webhooks, and a query of some kilobytes may name thousands.
const NAMES: [&str; 24] = [
    "allowWatchBookmarks",
    "container",
    "continue",
    "dryRun",
    "exclude",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "force",
    "gracePeriodSeconds",
    "includeObject",
    "labelSelector",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeout",
    "timeoutSeconds",
    "uid",
    "verbose",
    "watch",
];

/// Those of which more than the first value is read.
const REPEATED: [&str; 2] = ["dryRun", "exclude"];

/// The decoded query of a request; the first value of a name wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(&'static str, String)>);

impl Params {
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, Failure> {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        let decode = |text: &str| unescaped(&text.replace('+', " "));
        let mut params = Self::default();
        for pair in pairs {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            let Some(known) = NAMES.into_iter().find(|known| *known == name) else {
                continue;
            };
            if REPEATED.contains(&known) || params.get(known).is_none() {
                params.0.push((known, value));
            }
        }
        Ok(params)
    }

    /// About how much memory they take.
    pub(crate) fn held_bytes(&self) -> usize {
        let pair = |(_, value): &(&str, String)| size_of::<(&str, String)>() + value.len();
        self.0.iter().map(pair).sum()
    }

    pub(crate) fn get(&self, name: &'static str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name that may be repeated.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        debug_assert!(NAMES.contains(&name), "{name} is not kept");
        let named = self.0.iter().filter(move |(key, _)| *key == name);
        named.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &'static str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A boolean: anything but `0` and `false` is true, even an empty value.
    pub(crate) fn flag(&self, name: &'static str) -> Option<bool> {
        self.get(name)
            .map(|value| !matches!(value.to_lowercase().as_str(), "0" | "false"))
    }

    pub(crate) fn integer(&self, name: &'static str) -> Result<Option<i64>, Failure> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|error: ParseIntError| {
            let why = not_a_number(&error);
            Failure::bad_request(format!("strconv.ParseInt: parsing {value:?}: {why}"))
        })?;
        Ok(Some(number))
    }

    /// How long the client waits; a timeout that is not positive is none. Only webhooks take long enough for it
    /// to end a request. Source: the filter `WithRequestDeadline`.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, Failure> {
        let text = self.text("timeout");
        if text.is_empty() {
            return Ok(None);
        }
        match duration::parse(text) {
            Some(nanoseconds) => {
                let nanoseconds = u64::try_from(nanoseconds).unwrap_or(0);
                let timeout = Duration::from_nanos(nanoseconds);
                Ok(Some(timeout).filter(|timeout| !timeout.is_zero()))
            }
            None => Err(Failure::bad_request(format!(
                "invalid timeout specified in the request URL - time: invalid duration {text:?}"
            ))),
        }
    }

    /// The options of a create; everything that is wrong is reported at once. Source: apimachinery's
    /// `ValidateCreateOptions` and its siblings.
    pub(crate) fn create_options(&self) -> Result<WriteOptions, Failure> {
        self.rest_of_options("CreateOptions", Vec::new())
    }

    /// The options of an update.
    pub(crate) fn update_options(&self) -> Result<WriteOptions, Failure> {
        self.rest_of_options("UpdateOptions", Vec::new())
    }

    /// The options of a patch that is no apply patch.
    pub(crate) fn patch_options(&self) -> Result<WriteOptions, Failure> {
        let mut causes = Vec::new();
        if self.get("force").is_some() {
            let why = "may not be specified for non-apply patch";
            causes.push(FieldCause::forbidden("force", why));
        }
        self.rest_of_options("PatchOptions", causes)
    }

    /// The options of an apply patch, which must name its field manager.
    pub(crate) fn apply_options(&self) -> Result<WriteOptions, Failure> {
        let mut causes = Vec::new();
        if self.text("fieldManager").is_empty() {
            let why = "is required for apply patch";
            causes.push(FieldCause::required("fieldManager", why));
        }
        self.rest_of_options("PatchOptions", causes)
    }

    fn rest_of_options(
        &self,
        options: &str,
        mut causes: Vec<FieldCause>,
    ) -> Result<WriteOptions, Failure> {
        let manager = self.text("fieldManager").to_owned();
        causes.extend(validate::field_manager("fieldManager", &manager));
        let dry_runs: Vec<&str> = self.all("dryRun").collect();
        causes.extend(dry_run_cause(&dry_runs));
        let sent = self.text("fieldValidation");
        let validation = FieldValidation::named(sent);
        if validation.is_none() && !sent.is_empty() {
            let supported = &["", "Ignore", "Strict", "Warn"];
            let cause = FieldCause::not_supported("fieldValidation", sent, supported);
            causes.push(cause);
        }
        if causes.is_empty() {
            return Ok(WriteOptions {
                dry_run: !dry_runs.is_empty(),
                manager,
                validation,
            });
        }
        Err(Failure::invalid_options(options, causes))
    }

    /// `resourceVersion`; `None` if it is absent or empty.
    pub(crate) fn revision(&self) -> Result<Option<Revision>, Failure> {
        match self.text("resourceVersion") {
            "" => Ok(None),
            text => Revision::parse(text).map(Some).ok_or_else(|| {
                let why = text
                    .parse::<u64>()
                    .map_or_else(|error| not_a_number(&error), |_| SYNTAX);
                Failure::bad_request(format!(
                    "invalid resource version: resourceVersion: Invalid value: {text:?}: \
                     strconv.ParseUint: parsing {text:?}: {why}"
                ))
            }),
        }
    }
}

const SYNTAX: &str = "invalid syntax";

/// The fault of `dryRun`: only `All` asks for a dry run; any other value, even an empty one, is invalid.
pub(crate) fn dry_run_cause(values: &[&str]) -> Option<FieldCause> {
    let unknown = values.iter().any(|value| *value != "All");
    unknown.then(|| FieldCause::unsupported_dry_run(values))
}

/// Why a text is not a number, in Go's words.
const fn not_a_number(error: &ParseIntError) -> &'static str {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => SYNTAX,
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, Params};
    use std::time::Duration;

    #[test]
    fn of_a_query_no_more_is_kept_than_is_read() {
        let query = "a&".repeat(30_000) + "%6cimit=1&limit=2&dryRun=All&dryRun=";
        let params = Params::parse(Some(&query)).expect("a query");
        assert_eq!(params.0.len(), 3, "{params:?}");
        assert_eq!(params.integer("limit").expect("a number"), Some(1));
        assert_eq!(params.all("dryRun").collect::<Vec<_>>(), ["All", ""]);
        assert!(
            Params::parse(Some("a=%zz")).is_err(),
            "it is read all the same"
        );
        for name in NAMES {
            let params = Params::parse(Some(&format!("{name}=v"))).expect("a query");
            assert_eq!(params.get(name), Some("v"));
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_told_as_go_tells_it() {
        for (text, why) in [
            ("9999999999999999999", "value out of range"),
            ("-9999999999999999999", "value out of range"),
            ("x", "invalid syntax"),
            ("", "invalid syntax"),
        ] {
            let params = Params::parse(Some(&format!("limit={text}"))).expect("a query");
            let refused = params.integer("limit").expect_err(text);
            let told = format!("strconv.ParseInt: parsing {text:?}: {why}");
            assert_eq!(refused.to_json()["message"], told);
        }
    }

    #[test]
    fn a_timeout_is_a_duration_and_bounds_where_it_is_more_than_nothing() {
        for (text, bound) in [
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)),
            ("0", None),
            ("0s", None),
            ("-1s", None),
            ("", None),
        ] {
            let params = Params::parse(Some(&format!("timeout={text}"))).expect("a query");
            let timeout = params.timeout().expect("a duration");
            assert_eq!(timeout, bound.map(Duration::from_millis), "{text}");
        }
        for text in ["abc", "30", "s", "1.2.3s", "1d", "-", ".s", "1m30", "1sm"] {
            let params = Params::parse(Some(&format!("timeout={text}"))).expect("a query");
            assert!(params.timeout().is_err(), "{text}");
        }
    }
}
