//! `APIService`s, which announce other API servers. Source: `pkg/apis/apiregistration/validation`.

use super::Subject;
use crate::rejection::CauseList;

/// The name must consist of the served version and group. It is not checked again unless they change.
pub(super) fn api_service(subject: &Subject<'_>, causes: &mut CauseList) {
    let named = ["spec.version", "spec.group"].map(|way| subject.new.at(way));
    if subject.old.is_some() && !named.iter().any(|place| subject.changes(place)) {
        return;
    }
    let text = |field: &str| subject.new.at(field).text().to_owned();
    let required = format!("{}.{}", text("spec.version"), text("spec.group"));
    let name = subject.new.at("metadata.name");
    if name.text() != required {
        let why = format!("must be `spec.version+\".\"+spec.group`: {required:?}");
        causes.push_with(|| name.invalid(&why));
    }
}
