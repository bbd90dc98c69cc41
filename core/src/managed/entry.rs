//! Entries of `metadata.managedFields`, one per manager: decoding, encoding and validation.

use crate::Time;
use crate::fields::{FieldSet, ManagerId, Managers, Owned};
use crate::object::Name;
use crate::rejection::{CauseList, FieldCause};
use crate::validate;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Source: apimachinery's `MaxSubresourceNameLength`.
const SUBRESOURCE_MAX: usize = 256;
const FIELDS_TYPE: &str = "FieldsV1";

/// All managers that own fields of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Managed {
    pub(super) managers: Managers,
    /// When each manager last gained a field; some entries have no time.
    pub(super) times: BTreeMap<ManagerId, Time>,
}

impl Managed {
    pub(crate) fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    /// Whether the two are equal except for their times.
    pub(crate) fn same_fields(&self, other: &Self) -> bool {
        self.managers == other.managers
    }

    /// Decodes a list; `None` if one of its entries cannot be decoded.
    pub(crate) fn read(list: Option<&Value>) -> Option<Self> {
        Self::decode(list).ok()
    }

    /// Decodes a list; the error is upstream's text.
    pub(super) fn decode(list: Option<&Value>) -> Result<Self, String> {
        let mut managed = Self::default();
        let entries = match list {
            None | Some(Value::Null) => return Ok(managed),
            Some(list) => list.as_array().ok_or("it is not a list")?,
        };
        for (index, entry) in entries.iter().enumerate() {
            let (id, owned, time) = read(index, entry)?;
            match time {
                Some(time) => drop(managed.times.insert(id.clone(), time)),
                None => drop(managed.times.remove(&id)),
            }
            managed.managers.insert(id, owned);
        }
        Ok(managed)
    }

    /// Encodes the list; `None` if no manager owns anything.
    pub(crate) fn list(&self) -> Option<Value> {
        if self.is_empty() {
            return None;
        }
        let mut entries: Vec<_> = self.managers.iter().collect();
        entries.sort_by_key(|(id, owned)| {
            let time = self.times.get(id).copied().unwrap_or_default();
            let name = (&id.manager, &owned.api_version, &id.subresource);
            (!id.applied, time.whole_seconds(), name)
        });
        let written = |(id, owned): (&ManagerId, &Owned)| write(id, owned, self.times.get(id));
        Some(entries.into_iter().map(written).collect())
    }
}

fn read(index: usize, entry: &Value) -> Result<(ManagerId, Owned, Option<Time>), String> {
    let text = |member: &str| entry.get(member).and_then(Value::as_str);
    let applied = match text("operation") {
        Some("Apply") => true,
        Some("Update") => false,
        _ => return Err("operation must be `Apply` or `Update`".into()),
    };
    let api_version = text("apiVersion").filter(|version| !version.is_empty());
    let api_version = Name::from(api_version.ok_or("apiVersion must not be empty")?);
    match text("fieldsType").unwrap_or_default() {
        FIELDS_TYPE => {}
        "" => {
            return Err(format!(
                "missing fieldsType in managed fields entry {index}"
            ));
        }
        other => {
            let why = format!("invalid fieldsType {other:?} in managed fields entry {index}");
            return Err(why);
        }
    }
    let time = match entry.get("time") {
        None | Some(Value::Null) => None,
        Some(time) => {
            let time = time.as_str().and_then(Time::parse);
            let time = time.ok_or_else(|| undecodable("time", index))?;
            Some(time.whole_seconds())
        }
    };
    let set = FieldSet::from_fields_v1(entry.get("fieldsV1").unwrap_or(&Value::Null));
    let set = set.ok_or_else(|| undecodable("versioned set", index))?;
    let id = ManagerId {
        manager: text("manager").unwrap_or_default().into(),
        applied,
        api_version: (!applied).then(|| Name::clone(&api_version)),
        subresource: text("subresource").unwrap_or_default().into(),
    };
    Ok((id, Owned { set, api_version }, time))
}

fn undecodable(what: &str, index: usize) -> String {
    format!("error decoding {what} of managed fields entry {index}")
}

fn write(id: &ManagerId, owned: &Owned, time: Option<&Time>) -> Value {
    let mut entry = Map::new();
    entry.insert("manager".into(), Value::from(&*id.manager));
    let operation = if id.applied { "Apply" } else { "Update" };
    entry.insert("operation".into(), operation.into());
    entry.insert("apiVersion".into(), Value::from(&*owned.api_version));
    if let Some(time) = time {
        entry.insert("time".into(), time.to_rfc3339().into());
    }
    entry.insert("fieldsType".into(), FIELDS_TYPE.into());
    entry.insert("fieldsV1".into(), owned.set.to_fields_v1());
    if !id.subresource.is_empty() {
        entry.insert("subresource".into(), Value::from(&*id.subresource));
    }
    Value::Object(entry)
}

/// Whether a client sent a list that turns the tracking of managers off.
pub(crate) fn is_reset(list: &Value) -> bool {
    let is_blank = |entry: &Value| {
        let members = entry.as_object().into_iter().flatten();
        let mut filled = members.filter(|(_, value)| !value.is_null() && **value != json!(""));
        entry.is_object() && filled.next().is_none()
    };
    match list.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([entry]) => is_blank(entry),
        Some(_) | None => false,
    }
}

/// Returns what is wrong with a list that a client sent. A list that cannot be decoded is ignored.
/// Source: `ValidateManagedFields`.
pub(crate) fn causes(list: Option<&Value>) -> Vec<FieldCause> {
    let mut causes = CauseList::default();
    let readable = list.filter(|list| Managed::read(Some(list)).is_some());
    let entries = readable.and_then(Value::as_array).into_iter().flatten();
    for (index, entry) in entries.enumerate() {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let field = format!("metadata.managedFields[{index}]");
        let manager = text("manager").unwrap_or_default();
        causes.extend(validate::field_manager(
            &format!("{field}.manager"),
            manager,
        ));
        if text("subresource").unwrap_or_default().len() > SUBRESOURCE_MAX {
            let field = format!("{field}.subresource");
            causes.push_with(|| FieldCause::too_long(field, SUBRESOURCE_MAX));
        }
    }
    causes.into_causes()
}
