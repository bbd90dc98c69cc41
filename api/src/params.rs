//! Query parameters, checked.

use crate::path::percent_decode;
use crate::status::Failure;
use hindsight_core::Revision;
use hindsight_core::command::FieldValidation;
use hindsight_core::rejection::FieldCause;
use hindsight_core::validate;

/// Options that creates, updates and patches share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
}

/// The decoded query of a request; the first value of a name wins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, Failure> {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        let decode = |text: &str| percent_decode(&text.replace('+', " "));
        let read = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        };
        pairs.map(read).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// Every value of a name that may be repeated.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Anything but `0` and `false` is true, also nothing.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| !matches!(value.to_lowercase().as_str(), "0" | "false"))
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Failure> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|_| {
            Failure::bad_request(format!(
                "strconv.ParseInt: parsing {value:?}: invalid syntax"
            ))
        })?;
        Ok(Some(number))
    }

    /// A `timeout` must be a duration. No request here takes so long that one would end it.
    /// Source: the filter `WithRequestDeadline`.
    pub(crate) fn check_timeout(&self) -> Result<(), Failure> {
        match self.text("timeout") {
            "" => Ok(()),
            text if is_duration(text) => Ok(()),
            text => Err(Failure::bad_request(format!(
                "invalid timeout specified in the request URL - time: invalid duration {text:?}"
            ))),
        }
    }

    /// What a create, an update or a patch may ask for; everything that is wrong is told at once.
    /// Source: apimachinery's `ValidateCreateOptions` and its siblings.
    pub(crate) fn write_options(&self, options: &str) -> Result<WriteOptions, Failure> {
        let mut causes = Vec::new();
        if options == "PatchOptions" && self.get("force").is_some() {
            let why = "may not be specified for non-apply patch";
            causes.push(FieldCause::forbidden("force", why));
        }
        self.rest_of_options(options, causes)
    }

    /// The same of an apply patch, which needs a name to apply as.
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
        causes.extend(validate::field_manager(
            "fieldManager",
            self.text("fieldManager"),
        ));
        causes.extend(self.dry_run_cause());
        let validation = match self.text("fieldValidation") {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let supported = &["", "Ignore", "Strict", "Warn"];
                let cause = FieldCause::not_supported("fieldValidation", other, supported);
                causes.push(cause);
                FieldValidation::Warn
            }
        };
        if causes.is_empty() {
            let dry_run = self.get("dryRun").is_some();
            return Ok(WriteOptions {
                dry_run,
                validation,
            });
        }
        Err(Failure::invalid_options(options, causes))
    }

    /// Only `All` asks for a dry run; anything else, also nothing, is invalid.
    fn dry_run_cause(&self) -> Option<FieldCause> {
        let values: Vec<&str> = self.all("dryRun").collect();
        let unknown = values.iter().any(|value| *value != "All");
        unknown.then(|| FieldCause::unsupported_list("dryRun", &values, &["All"]))
    }

    /// `resourceVersion`; `None` where it is absent or empty.
    pub(crate) fn revision(&self) -> Result<Option<Revision>, Failure> {
        match self.text("resourceVersion") {
            "" => Ok(None),
            text => Revision::parse(text)
                .map(Some)
                .ok_or_else(|| Failure::bad_request(format!("invalid resource version: {text:?}"))),
        }
    }
}

/// As Go reads one: `300ms`, `1.5h`, `2m30s`, or just `0`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|one: char| one.is_ascii_digit() || one == '.');
        let number = &rest.strip_suffix(unit).unwrap_or_default();
        let is_number =
            number.contains(|one: char| one.is_ascii_digit()) && number.matches('.').count() <= 1;
        let units = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];
        let Some(after) = units.iter().find_map(|one| {
            let after = unit.strip_prefix(one)?;
            let ends = after.is_empty()
                || after.starts_with(|one: char| one.is_ascii_digit() || one == '.');
            ends.then_some(after)
        }) else {
            return false;
        };
        if !is_number {
            return false;
        }
        rest = after;
    }
    !text.is_empty() && text != "-" && text != "+"
}

#[cfg(test)]
mod tests {
    use super::is_duration;

    #[test]
    fn durations_are_what_go_takes_for_one() {
        for text in [
            "0", "30s", "1m30s", "1.5h", ".5s", "5.s", "-1s", "+2ms", "1us", "1\u{b5}s", "34s0m",
        ] {
            assert!(is_duration(text), "{text}");
        }
        for text in [
            "", "abc", "30", "s", "1.2.3s", "1 s", "1d", "-", "+", ".s", "1m30", "1sm",
        ] {
            assert!(!is_duration(text), "{text}");
        }
    }
}
