//! Query parameters, checked.

use crate::path::percent_decode;
use crate::status::Failure;
use hindsight_core::Revision;
use hindsight_core::command::FieldValidation;
use hindsight_core::rejection::FieldCause;

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

    /// Only `All` asks for a dry run; anything else, also nothing, is invalid.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool, Failure> {
        let values = || {
            self.0
                .iter()
                .filter(|(key, _)| key == "dryRun")
                .map(|(_, value)| value)
        };
        let causes: Vec<FieldCause> = values()
            .filter(|value| *value != "All")
            .map(|value| FieldCause::not_supported("dryRun", value, &["All"]))
            .collect();
        if causes.is_empty() {
            return Ok(values().next().is_some());
        }
        Err(Failure::invalid_options(options, causes))
    }

    pub(crate) fn field_validation(&self, options: &str) -> Result<FieldValidation, Failure> {
        match self.text("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            "Strict" => Ok(FieldValidation::Strict),
            other => {
                let supported = &["", "Ignore", "Strict", "Warn"];
                let cause = FieldCause::not_supported("fieldValidation", other, supported);
                Err(Failure::invalid_options(options, vec![cause]))
            }
        }
    }

    /// `resourceVersion`; `None` where it is absent or empty.
    pub(crate) fn revision(&self) -> Result<Option<Revision>, Failure> {
        match self.text("resourceVersion") {
            "" => Ok(None),
            text => text
                .parse()
                .map(|number| Some(Revision(number)))
                .map_err(|_| Failure::bad_request(format!("invalid resource version: {text:?}"))),
        }
    }
}
