//! What a question is about, as it is typed: a kind, a name and a namespace.

use super::{Directory, usage_error};
use crate::inspect::ObjectQuery;
use crate::shell;
use anyhow::Result;
use clap::Args;
use clap::error::ErrorKind;

/// The namespace that is meant if none is named.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

/// `KIND`, or `KIND/NAME`.
#[derive(Debug, Clone)]
pub(super) struct ResourceArg {
    kind: String,
    name: Option<NameArg>,
}

/// A name that follows a kind, as kubectl allows it. It may have its namespace before it, as answers name
/// objects.
#[derive(Debug, Clone)]
pub(super) struct NameArg {
    namespace: Option<String>,
    name: String,
}

/// What all these arguments come to.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) kind: String,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
}

impl ResourceArg {
    /// Adds a name that was given as an argument of its own, and the namespace that was given with `-n`.
    pub(super) fn with_name(
        self,
        name: Option<NameArg>,
        namespace: Option<String>,
        subcommand: &str,
    ) -> Result<Subject> {
        let refused = |why| Err(usage_error(subcommand, ErrorKind::ArgumentConflict, why));
        let Self { kind, name: first } = self;
        let named = match (first, name) {
            (Some(one), Some(other)) => {
                let (one, other) = (one.name, other.name);
                return refused(format!(
                    "two names are given, {one} and {other}; give only one"
                ));
            }
            (one, other) => one.or(other),
        };
        let Some(named) = named else {
            return Ok(Subject {
                kind,
                name: None,
                namespace,
            });
        };
        let namespace = match (named.namespace, namespace) {
            (Some(one), Some(two)) if one != two => {
                return refused(format!(
                    "two namespaces are given, {one} before the name and {two} with -n; give only one"
                ));
            }
            (one, two) => one.or(two),
        };
        Ok(Subject {
            kind,
            name: Some(named.name),
            namespace,
        })
    }
}

#[derive(Debug, Clone, Args)]
pub(super) struct Named {
    /// KIND/NAME, or KIND followed by the name
    #[arg(value_parser = parse_resource)]
    subject: ResourceArg,
    /// NAME or NAMESPACE/NAME, if the argument before is KIND alone
    #[arg(value_parser = parse_name)]
    name: Option<NameArg>,
}

impl Named {
    /// The object that is named so, in the namespace that was given with `-n`.
    pub(super) fn object(self, namespace: Option<String>, subcommand: &str) -> Result<ObjectQuery> {
        let subject = self.subject.with_name(self.name, namespace, subcommand)?;
        let Some(name) = subject.name else {
            let why = "give KIND/NAME, such as configmap/settings";
            return Err(usage_error(
                subcommand,
                ErrorKind::MissingRequiredArgument,
                why,
            ));
        };
        Ok(ObjectQuery {
            kind: subject.kind,
            name,
            namespace: subject.namespace,
            uid: None,
        })
    }
}

impl Subject {
    /// Refuses a namespace in a question about all of them.
    pub(super) fn check_place(&self, is_everywhere: bool, subcommand: &str) -> Result<()> {
        match &self.namespace {
            Some(namespace) if is_everywhere => {
                let why =
                    format!("the name is given with its namespace, {namespace}; leave -A out");
                Err(usage_error(subcommand, ErrorKind::ArgumentConflict, why))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Directory {
    /// An object as the arguments of a subcommand that is suggested. A namespace that is meant anyway is left out.
    pub(super) fn arguments(&self, kind: &str, name: &str, namespace: Option<&str>) -> String {
        let named = format!("{kind}/{name}");
        let namespace = namespace.filter(|namespace| *namespace != DEFAULT_NAMESPACE);
        let option = namespace.map_or_else(String::new, |namespace| {
            format!(" -n {}", shell::word(namespace))
        });
        format!("{}{option}{}", shell::word(&named), self.option())
    }
}

/// Parses the first argument of `log`, `get`, `plan` and `why`. It may be an object as answers in JSON name it: the kind
/// and, behind a blank, the name. Names of some kinds contain blanks; kinds contain neither these nor slashes.
pub(super) fn parse_resource(text: &str) -> Result<ResourceArg, String> {
    let end = text.find([' ', '/']).unwrap_or(text.len());
    let (kind, rest) = text.split_at(end);
    let name = if let Some(name) = rest.strip_prefix(' ') {
        Some(parse_name(name)?)
    } else {
        let name = rest.strip_prefix('/').map(str::to_owned);
        let namespace = None;
        name.map(|name| NameArg { namespace, name })
    };
    let is_no_name = |name: &NameArg| name.name.is_empty() || name.name.contains('/');
    if kind.is_empty() || name.as_ref().is_some_and(is_no_name) {
        let why =
            "expected KIND or KIND/NAME, such as configmap/settings, and the namespace with -n";
        return Err(why.into());
    }
    let kind = one_kind(kind)?;
    Ok(ResourceArg { kind, name })
}

fn one_kind(text: &str) -> Result<String, String> {
    if text.contains(',') {
        return Err("give one kind at a time, such as configmaps".into());
    }
    Ok(text.to_owned())
}

/// Parses the argument that may follow it.
pub(super) fn parse_name(text: &str) -> Result<NameArg, String> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, text),
    };
    if name.is_empty() || name.contains('/') || namespace.is_some_and(str::is_empty) {
        return Err("expected NAME or NAMESPACE/NAME, such as settings or prod/settings".into());
    }
    let namespace = namespace.map(str::to_owned);
    let name = name.to_owned();
    Ok(NameArg { namespace, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, name: &str, namespace: Option<&str>) -> Result<Subject> {
        let name = parse_name(name).expect("a name");
        let kind = parse_resource(kind).expect("a kind");
        kind.with_name(Some(name), namespace.map(str::to_owned), "why")
    }

    #[test]
    fn a_name_with_its_namespace_is_read_as_answers_print_it() {
        for (kind, name, option, namespace) in [
            ("configmaps", "prod/child", None, Some("prod")),
            ("configmaps", "prod/child", Some("prod"), Some("prod")),
            ("configmaps", "child", Some("prod"), Some("prod")),
            ("configmaps", "child", None, None),
        ] {
            let subject = read(kind, name, option).expect("read");
            assert_eq!(subject.name.as_deref(), Some("child"));
            assert_eq!(subject.namespace.as_deref(), namespace);
            assert!(subject.check_place(false, "get").is_ok());
            assert_eq!(
                subject.check_place(true, "get").is_err(),
                namespace.is_some()
            );
        }
        for (kind, name, option) in [
            ("configmaps", "prod/child", Some("other")),
            ("configmap/a", "prod/child", None),
        ] {
            assert!(read(kind, name, option).is_err(), "{kind} {name}");
        }
        for text in ["", "/", "a/", "/a", "a/b/c"] {
            assert!(parse_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_is_read_as_answers_in_json_name_it() {
        for (text, namespace) in [
            ("configmaps prod/child", Some("prod")),
            ("nodes child", None),
        ] {
            let subject = parse_resource(text).expect("read");
            let subject = subject.with_name(None, None, "why").expect("a name");
            assert_eq!(subject.name.as_deref(), Some("child"));
            assert_eq!(subject.namespace.as_deref(), namespace);
            assert!(text.starts_with(&subject.kind));
        }
        for text in ["clusterrole/team lead", "clusterrole team lead"] {
            let subject = parse_resource(text).expect("read");
            let subject = subject.with_name(None, None, "why").expect("a name");
            assert_eq!(subject.kind, "clusterrole");
            assert_eq!(subject.name.as_deref(), Some("team lead"));
        }
        for text in [
            "configmap/",
            "/settings",
            " settings",
            "configmap//settings",
            "configmap/prod/settings",
            "configmaps prod/",
            "configmaps ",
            "pods,secrets prod/a",
            "pods,secrets",
        ] {
            assert!(parse_resource(text).is_err(), "{text}");
        }
    }
}
