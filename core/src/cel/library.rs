//! The functions that expressions may call: those of CEL and those of Kubernetes. The checker knows
//! only the table of their signatures; at run time a function dispatches on the values that it is
//! given.

mod addresses;
pub(super) mod convert;
pub(super) mod formats;
pub(super) mod lists;
pub(super) mod optionals;
mod quantities;
mod regexes;
pub(super) mod sequences;
mod strings;
mod times;
mod urls;
pub(super) mod versions;

use super::meter::{Fault, Meter};
use super::value::Value;
use super::{authority, operators};

/// The implementation of a function.
pub(super) type Native = for<'a> fn(&mut Meter, &[Value<'a>]) -> Result<Value<'a>, Fault>;

/// Prefixes of function names that are namespaces, not values.
pub(super) const NAMESPACES: [&str; 6] = ["format", "ip", "lists", "optional", "sets", "strings"];
/// Functions whose second argument is a regular expression.
pub(super) const PATTERNS: [&str; 3] = ["matches", "find", "findAll"];

/// Returns every function with its signatures.
pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let libraries = [
        operators::functions(),
        convert::functions(),
        strings::functions(),
        lists::functions(),
        sequences::functions(),
        regexes::functions(),
        optionals::functions(),
        times::functions(),
        quantities::functions(),
        urls::functions(),
        addresses::functions(),
        formats::functions(),
        versions::functions(),
        authority::functions(),
    ];
    libraries.into_iter().flatten().collect()
}

/// The placeholder in calls that the checker has not resolved yet.
pub(super) fn undeclared<'a>(_: &mut Meter, _: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Err(Fault::no_overload())
}
