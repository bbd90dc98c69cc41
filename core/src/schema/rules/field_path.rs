//! The `fieldPath` of a rule: `.spec.a` or `.spec['b-c']`. Its members must be known to the schema.

use super::Schema;

/// Converts a field path to the notation of errors.
pub(super) fn read(path: &str, schema: &Schema) -> Result<String, String> {
    let mut made = String::new();
    let (mut rest, mut schema) = (path, schema);
    while !rest.is_empty() {
        let (name, tail) = step(rest)?;
        let unknown = "does not refer to a valid field";
        let listed = !schema.properties.is_empty();
        let next = if listed {
            schema.properties.get(name.as_str())
        } else {
            schema.additional.as_ref()
        };
        schema = next.ok_or(unknown)?;
        match (listed, made.is_empty()) {
            (true, true) => made.push_str(&name),
            (true, false) => made.extend([".", &name]),
            (false, _) => made.extend(["[", &name, "]"]),
        }
        rest = tail;
    }
    Ok(made)
}

/// Splits off the first name of the path.
fn step(path: &str) -> Result<(String, &str), String> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        if name.is_empty() {
            return Err("unexpected end of JSON path".into());
        }
        return Ok((name.to_owned(), rest));
    }
    let Some(rest) = path.strip_prefix('[') else {
        let found = path.split(['.', '[', ']']).next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {found}"));
    };
    let quoted = rest.strip_prefix('\'').ok_or_else(|| {
        let found = rest.split(']').next().unwrap_or_default();
        format!("expected single quoted string but got {found}")
    })?;
    let (name, rest) = unquoted(quoted)?;
    let rest = rest
        .strip_prefix(']')
        .ok_or("unexpected end of JSON path")?;
    Ok((name, rest))
}

fn unquoted(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut rest = text.char_indices();
    while let Some((at, one)) = rest.next() {
        match one {
            '\'' => return Ok((name, text.get(at + 1..).unwrap_or_default())),
            '\\' => match rest.next() {
                Some((_, one @ ('\'' | '\\'))) => name.push(one),
                Some((_, one)) => {
                    return Err(format!(
                        "invalid string literal: invalid escape char \\{one}"
                    ));
                }
                None => break,
            },
            _ => name.push(one),
        }
    }
    Err("unexpected end of JSON path".into())
}
