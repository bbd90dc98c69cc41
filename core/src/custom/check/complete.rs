//! Every field that is mentioned inside a junctor (`allOf`, `anyOf`, `oneOf`, `not`) must also be
//! specified outside of it. Source: `apiextensions-apiserver/pkg/apiserver/schema/complete.go`.

use super::schema::{Place, each_child};
use crate::rejection::{CauseList, FieldCause};
use crate::schema::Path;
use serde_json::Value;

pub(super) fn check(schema: &Value, at: &Path<'_>, causes: &mut CauseList) {
    if causes.is_full() {
        return;
    }
    each_child(schema, &mut |place, child| match place {
        Place::Item(..) | Place::Only("not") => {
            place.within(at, |nested_at| {
                let schema = Some(schema);
                Structure { schema, at }.covers(child, nested_at, causes);
            });
        }
        Place::Only(_) | Place::Entry(..) => place.within(at, |at| check(child, at, causes)),
    });
}

/// The schema at this place outside of junctors, if there is one.
#[derive(Clone, Copy)]
struct Structure<'a> {
    schema: Option<&'a Value>,
    at: &'a Path<'a>,
}

impl Structure<'_> {
    fn covers(self, nested: &Value, nested_at: &Path<'_>, causes: &mut CauseList) {
        let Some(schema) = self.schema else {
            let why = || format!("because it is defined in {nested_at}");
            return causes.push_with(|| FieldCause::required(self.at.to_string(), &why()));
        };
        each_child(nested, &mut |place, child| {
            place.within(nested_at, |child_at| match place {
                Place::Item(..) | Place::Only("not") => self.covers(child, child_at, causes),
                Place::Only("items") => {
                    let inside = Structure {
                        schema: schema.get("items"),
                        at: &self.at.member("items"),
                    };
                    inside.covers(child, child_at, causes);
                }
                Place::Entry(_, key) => {
                    let properties = self.at.member("properties");
                    let inside = Structure {
                        schema: schema.get("properties").and_then(|all| all.get(key)),
                        at: &properties.entry(key),
                    };
                    inside.covers(child, child_at, causes);
                }
                Place::Only(_) => {}
            });
        });
    }
}
