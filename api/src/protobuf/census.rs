//! What a body in protobuf consists of once it is decoded. Its fields are walked over, and nothing is allocated.

use super::table::{Field, Kind, Name, Shape, TABLE};
use super::wire::{self, Wire};
use super::{Envelope, MAGIC};
use crate::body::Census;

/// Adds what is decoded from a body, or more. Of one that does not say what kind it is, whatever follows may be
/// messages of two bytes.
pub(crate) fn add_to(census: &mut Census, body: &[u8]) {
    census.bytes += body.len();
    let envelope = body.strip_prefix(MAGIC).and_then(Envelope::read);
    let Some(Envelope {
        api_version,
        kind,
        raw,
    }) = envelope
    else {
        return;
    };
    if api_version.is_empty() || kind.is_empty() {
        census.objects += raw.len() / 2;
        census.items += raw.len() / 2;
    } else if let Some(name) = TABLE.kind(&api_version, &kind) {
        add_message(census, name, raw);
    }
}

fn add_message(census: &mut Census, name: Name, bytes: &[u8]) {
    census.objects += 1;
    add_fields(census, TABLE.fields(name), bytes);
}

/// Ends where decoding ends: at what is no field.
fn add_fields(census: &mut Census, known: &[Field], bytes: &[u8]) {
    let mut before = 0;
    for (number, wire) in wire::fields(bytes).map_while(|field| field) {
        let Some(field) = known.iter().find(|field| field.number == number) else {
            continue;
        };
        let begins = before != number;
        before = number;
        match field.shape {
            Shape::Single | Shape::Inline => {
                add_member(census, field);
                add_value(census, field.kind, wire);
            }
            Shape::List => {
                if begins {
                    // Beside the member: a list has room for four items at first.
                    census.items += 3;
                    add_member(census, field);
                }
                census.items += 1;
                add_value(census, field.kind, wire);
            }
            Shape::Map => {
                if begins {
                    census.objects += 1;
                    add_member(census, field);
                }
                census.members += 1;
                for (number, wire) in inner(wire) {
                    if number == 2 {
                        add_value(census, field.kind, wire);
                    }
                }
            }
        }
    }
}

/// In JSON, the length of a member's name is part of that of the body.
const fn add_member(census: &mut Census, field: &Field) {
    census.members += 1;
    census.bytes += field.name.len();
}

fn add_value(census: &mut Census, kind: Kind, wire: Wire<'_>) {
    match kind {
        Kind::Message(name) => {
            if let Wire::Bytes(bytes) = wire {
                add_message(census, name, bytes);
            }
        }
        Kind::Json => {
            for (_, wire) in inner(wire) {
                if let Wire::Bytes(text) = wire {
                    census.add_text(text, false);
                }
            }
        }
        Kind::Texts => census.items += 4 + 2 * inner(wire).count(),
        Kind::Text
        | Kind::Bool
        | Kind::Integer
        | Kind::Bytes
        | Kind::Time
        | Kind::MicroTime
        | Kind::Quantity
        | Kind::IntOrString => {}
    }
}

/// The fields of a message that the table does not describe.
fn inner(wire: Wire<'_>) -> impl Iterator<Item = (u64, Wire<'_>)> {
    let bytes = match wire {
        Wire::Bytes(bytes) => bytes,
        Wire::Number(_) | Wire::Fixed => &[],
    };
    wire::fields(bytes).map_while(|field| field)
}
