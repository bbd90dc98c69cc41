//! The `authorizer` variable, through which an expression asks whether a request is permitted.
//! Checks of non-resource paths and checks with selectors are not supported. Source: upstream's
//! `library/authz.go`.

use super::library::Native;
use super::meter::Fault;
use super::value::Value;
use std::fmt;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Fault>;

/// The request whose permission an expression asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Namespace and name of a service account; `None` means the user who makes the request.
    pub service_account: Option<(String, String)>,
    /// Group of the resource.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object.
    pub name: String,
    /// The verb.
    pub verb: String,
}

/// Answers the permission checks of expressions.
pub trait Authority: fmt::Debug + Sync {
    /// Returns `None` if the access is allowed, else the reason for the refusal.
    fn refusal(&self, access: &Access) -> Option<String>;
}

/// A permission check that is being built; it has a decision once the verb is given.
#[derive(Debug, Clone)]
pub(crate) struct Check<'a> {
    authority: &'a dyn Authority,
    access: Access,
    decision: Option<std::result::Result<(), String>>,
}

/// The cost of one check. Source: upstream's `library/cost.go`.
const CHECK_COST: u64 = 350_000;

impl<'a> Value<'a> {
    /// The value of the variable `authorizer`.
    pub(crate) fn authorizer(authority: &'a dyn Authority) -> Self {
        Self::resource_check(authority, Access::default())
    }

    /// A check of a resource that lacks only its verb: `authorizer.requestResource`.
    pub(crate) fn resource_check(authority: &'a dyn Authority, access: Access) -> Self {
        Self::Check(Arc::new(Check {
            authority,
            access,
            decision: None,
        }))
    }
}

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    vec![
        (
            "authorizer.serviceAccount(string, string) authorizer",
            |_, given| {
                with(given, |access, texts| {
                    access.service_account = texts.next().zip(texts.next());
                })
            },
        ),
        ("authorizer.group(string) groupCheck", |_, given| {
            with(given, |access, texts| {
                access.group = texts.next().unwrap_or_default();
            })
        }),
        ("groupCheck.resource(string) resourceCheck", |_, given| {
            with(given, |access, texts| {
                access.resource = texts.next().unwrap_or_default();
            })
        }),
        (
            "resourceCheck.subresource(string) resourceCheck",
            |_, given| {
                with(given, |access, texts| {
                    access.subresource = texts.next().unwrap_or_default();
                })
            },
        ),
        (
            "resourceCheck.namespace(string) resourceCheck",
            |_, given| {
                with(given, |access, texts| {
                    access.namespace = texts.next().unwrap_or_default();
                })
            },
        ),
        ("resourceCheck.name(string) resourceCheck", |_, given| {
            with(given, |access, texts| {
                access.name = texts.next().unwrap_or_default();
            })
        }),
        ("resourceCheck.check(string) decision", |meter, given| {
            meter.spend(CHECK_COST)?;
            check(given)
        }),
        ("decision.allowed() bool", |_, given| {
            decision(given).map(|decision| Value::Bool(decision.is_ok()))
        }),
        ("decision.reason() string", |_, given| {
            decision(given).map(|decision| Value::text(decision.err().unwrap_or_default()))
        }),
        ("decision.errored() bool", |_, given| {
            decision(given).map(|_| Value::Bool(false))
        }),
        ("decision.error() string", |_, given| {
            decision(given).map(|_| Value::text(""))
        }),
    ]
}

fn check_of<'a, 'b>(given: &'b [Value<'a>]) -> Result<&'b Check<'a>> {
    match given.first() {
        Some(Value::Check(check)) => Ok(check),
        _ => Err(Fault::no_overload()),
    }
}

type Texts<'b> = dyn Iterator<Item = String> + 'b;

fn with<'a>(given: &[Value<'a>], change: fn(&mut Access, &mut Texts<'_>)) -> Result<Value<'a>> {
    let mut check = check_of(given)?.clone();
    let mut texts = given.iter().filter_map(|one| match one {
        Value::Text(text) => Some(text.as_str().to_owned()),
        _ => None,
    });
    change(&mut check.access, &mut texts);
    Ok(Value::Check(Arc::new(check)))
}

fn check<'a>(given: &[Value<'a>]) -> Result<Value<'a>> {
    let Value::Check(check) = with(given, |access, texts| {
        access.verb = texts.next().unwrap_or_default();
    })?
    else {
        return Err(Fault::no_overload());
    };
    let refusal = check.authority.refusal(&check.access);
    let decision = refusal.map_or(Ok(()), Err);
    Ok(Value::Check(Arc::new(Check {
        decision: Some(decision),
        ..(*check).clone()
    })))
}

fn decision(given: &[Value<'_>]) -> Result<std::result::Result<(), String>> {
    let decision = check_of(given)?.decision.clone();
    decision.ok_or_else(Fault::no_overload)
}
