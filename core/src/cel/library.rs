//! The functions that expressions may call: CEL's own, and those of Kubernetes. A table of signatures
//! is all that the checker knows of them; each takes what it is given by what it is.

pub(super) mod convert;
pub(super) mod lists;
pub(super) mod optionals;
mod quantities;
mod regexes;
mod strings;
mod times;

use super::meter::{Fault, Meter};
use super::value::Value;
use super::{authority, operators};

/// A function.
pub(super) type Native = for<'a> fn(&mut Meter, &[Value<'a>]) -> Result<Value<'a>, Fault>;

/// What may stand in front of a function's name without being a value.
pub(super) const NAMESPACES: [&str; 2] = ["optional", "sets"];
/// Functions whose second argument is a regular expression.
pub(super) const PATTERNS: [&str; 3] = ["matches", "find", "findAll"];

/// Every function, by its signatures.
pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let libraries = [
        operators::functions(),
        convert::functions(),
        strings::functions(),
        lists::functions(),
        regexes::functions(),
        optionals::functions(),
        times::functions(),
        quantities::functions(),
        authority::functions(),
    ];
    libraries.into_iter().flatten().collect()
}

/// Stands where the checker has not been.
pub(super) fn undeclared<'a>(_: &mut Meter, _: &[Value<'a>]) -> Result<Value<'a>, Fault> {
    Err(Fault::no_overload())
}
