//! Formats of strings, and what is wrong with a string that does not have one. Source:
//! `k8s.io/apiserver/pkg/cel/library/format.go`.

use super::super::meter::{Fault, Meter};
use super::super::value::Value;
use super::Native;
use crate::go::url;
use crate::schema::Format;
use crate::validate;

type Result<T> = std::result::Result<T, Fault>;

/// How many times the length of a string is paid for when it is looked at: a message may quote it.
const COPIES: usize = 8;

/// A format.
#[derive(Debug)]
pub(crate) struct Named {
    name: &'static str,
    problems: fn(&str) -> Vec<String>,
}

/// The formats, and for each a function of its name without arguments that returns it.
macro_rules! formats {
    ($($name:literal => $problems:expr;)*) => {
        static FORMATS: &[Named] = &[$(Named { name: $name, problems: $problems },)*];

        const GETTERS: &[(&str, Native)] = &[$((
            concat!("format.", $name, "() kubernetes.NamedFormat"),
            |_, _| named($name).map(Value::Format).ok_or_else(Fault::no_overload),
        ),)*];
    };
}

formats! {
    "dns1123Label" => validate::label_problems;
    "dns1123Subdomain" => validate::subdomain_problems;
    "dns1035Label" => validate::label_1035_problems;
    "qualifiedName" => validate::qualified_name;
    "dns1123LabelPrefix" => |text| validate::label_problems(&validate::masked(text));
    "dns1123SubdomainPrefix" => |text| validate::subdomain_problems(&validate::masked(text));
    "dns1035LabelPrefix" => |text| validate::label_1035_problems(&validate::masked(text));
    "labelValue" => validate::label_value;
    "uri" => |text| url::check(text).err().into_iter().collect();
    "uuid" => |text| of_schemas("uuid", text, "does not match the UUID format");
    "byte" => |text| of_schemas("byte", text, "invalid base64");
    "date" => |text| of_schemas("date", text, "invalid date");
    "datetime" => |text| of_schemas("datetime", text, "invalid datetime");
}

pub(super) fn functions() -> Vec<(&'static str, Native)> {
    let mut all: Vec<(&'static str, Native)> = vec![
        (
            "format.named(string) optional(kubernetes.NamedFormat)",
            |_, given| match given {
                [Value::Text(name)] => Ok(Value::optional(named(name.as_str()).map(Value::Format))),
                _ => Err(Fault::no_overload()),
            },
        ),
        (
            "kubernetes.NamedFormat.validate(string) optional(list(string))",
            problems,
        ),
    ];
    all.extend(GETTERS);
    all
}

fn named(name: &str) -> Option<&'static Named> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What is wrong with a text, or nothing if it has the format.
fn problems<'a>(meter: &mut Meter, given: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::Format(format), Value::Text(text)] = given else {
        return Err(Fault::no_overload());
    };
    meter.text(text.as_str().len().saturating_mul(COPIES))?;
    let problems = (format.problems)(text.as_str());
    let problems = problems.into_iter().map(Value::text).collect::<Vec<_>>();
    let found = (!problems.is_empty()).then(|| Value::list(problems));
    Ok(Value::optional(found))
}

/// Checks a format that schemas have as well.
fn of_schemas(name: &str, text: &str, why: &str) -> Vec<String> {
    let fits = Format::named(name).is_some_and(|format| format.fits(text));
    (!fits).then(|| why.to_owned()).into_iter().collect()
}
