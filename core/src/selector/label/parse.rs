//! Parses the label selector of a query. Source: the lexer and the parser of apimachinery's
//! `labels`; the error messages are theirs.

use super::{Operator, Requirement};
use crate::selector::check_length;
use crate::validate::{label_value, qualified_name};
use std::collections::BTreeSet;

/// Longer ones first, so that `==` is not read as `=`.
const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];
/// How many wrong values are reported at most.
const PROBLEMS_MAX: usize = 10;

/// Parses the requirements of a selector, in their order.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens::of(text);
    let mut requirements = Vec::new();
    match tokens.peek() {
        Token::End => return Ok(requirements),
        Token::Word(_) | Token::Sign("!") => {}
        other @ Token::Sign(_) => {
            return Err(other.but("!, identifier, or 'end of string'"));
        }
    }
    loop {
        let read = requirement(&mut tokens);
        requirements.push(read.map_err(|why| format!("unable to parse requirement: {why}"))?);
        check_length(requirements.len())?;
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Sign(",") if tokens.peek().begins() => {}
            Token::Sign(",") => return Err(tokens.peek().but("identifier after ','")),
            other @ (Token::Word(_) | Token::Sign(_)) => {
                return Err(other.but("',' or 'end of string'"));
            }
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let is_absent = tokens.take("!");
    let key = match tokens.next() {
        Token::Word(key) => key,
        other @ (Token::End | Token::Sign(_)) => return Err(other.but("identifier")),
    };
    let problems = qualified_name(key);
    if !problems.is_empty() {
        return Err(format!(
            "<nil>: Invalid value: {key:?}: {}",
            problems.join("; ")
        ));
    }
    let operator = if is_absent {
        Operator::Absent
    } else {
        operator(tokens, key)?
    };
    Ok(Requirement {
        key: key.to_owned(),
        operator,
    })
}

fn operator(tokens: &mut Tokens<'_>, key: &str) -> Result<Operator, String> {
    if matches!(tokens.peek(), Token::End | Token::Sign(",")) {
        return Ok(Operator::Exists);
    }
    let equals = |value: &str| Operator::Is(value.to_owned());
    match tokens.next() {
        Token::Word("in") => values(tokens, key).map(|values| Operator::In(values.into())),
        Token::Word("notin") => values(tokens, key).map(|values| Operator::NotIn(values.into())),
        Token::Sign("=" | "==") => value(tokens, key).map(equals),
        Token::Sign("!=") => value(tokens, key).map(|one| {
            let values = BTreeSet::from([one.to_owned()]);
            Operator::NotIn(values.into())
        }),
        Token::Sign(">") => bound(tokens, key).map(Operator::Above),
        Token::Sign("<") => bound(tokens, key).map(Operator::Below),
        other @ (Token::End | Token::Sign(_) | Token::Word(_)) => {
            Err(other.but("in, notin, =, ==, !=, gt, lt"))
        }
    }
}

/// Parses one value, which may be empty.
fn value<'a>(tokens: &mut Tokens<'a>, key: &str) -> Result<&'a str, String> {
    let value = word_or_nothing(tokens)?;
    all(problems(0, key, value))?;
    Ok(value)
}

fn bound(tokens: &mut Tokens<'_>, key: &str) -> Result<i64, String> {
    let value = word_or_nothing(tokens)?;
    let number = value.parse::<i64>().map_err(|_| {
        format!(
            "values[0]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
        )
    });
    let refused = number.clone().err().into_iter();
    all(refused.chain(problems(0, key, value)))?;
    number
}

fn word_or_nothing<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str, String> {
    if matches!(tokens.peek(), Token::End | Token::Sign(",")) {
        return Ok("");
    }
    match tokens.next() {
        Token::Word(value) => Ok(value),
        other @ (Token::End | Token::Sign(_)) => Err(other.but("identifier")),
    }
}

/// Parses a list in parentheses, in which values may be empty. Source: `parseValues` and
/// `parseIdentifiersList`, which does not expect a third comma before the end.
fn values(tokens: &mut Tokens<'_>, key: &str) -> Result<BTreeSet<String>, String> {
    let opened = tokens.next();
    if opened != Token::Sign("(") {
        return Err(format!("found '{}' expected: '('", opened.text()));
    }
    if tokens.take(")") {
        return Ok([String::new()].into());
    }
    if !matches!(tokens.peek(), Token::Word(_) | Token::Sign(",")) {
        return Err(tokens.peek().but("',', ')' or identifier"));
    }
    let mut values = BTreeSet::new();
    while !tokens.take(")") {
        match tokens.next() {
            Token::Word(value) => {
                values.insert(value.to_owned());
                if !matches!(tokens.peek(), Token::Sign("," | ")")) {
                    return Err(tokens.peek().but("',' or ')'"));
                }
            }
            Token::Sign(",") => {
                let ends = tokens.peek() == Token::Sign(")");
                let again = tokens.take(",");
                if values.is_empty() || ends || again {
                    values.insert(String::new());
                }
                if again && tokens.peek() == Token::Sign(")") {
                    return Err(tokens.peek().but("',', or identifier"));
                }
            }
            other @ (Token::End | Token::Sign(_)) => return Err(other.but("',', or identifier")),
        }
    }
    let indexed = values.iter().enumerate();
    all(indexed.filter_map(|(index, value)| problems(index, key, value)))?;
    Ok(values)
}

fn problems(index: usize, key: &str, value: &str) -> Option<String> {
    let problems = label_value(value);
    let told = || {
        format!(
            "values[{index}][{key}]: Invalid value: {value:?}: {}",
            problems.join("; ")
        )
    };
    (!problems.is_empty()).then(told)
}

/// Fails if anything is wrong: one error is reported as it is, several in brackets.
fn all(wrong: impl IntoIterator<Item = String>) -> Result<(), String> {
    let wrong: Vec<String> = wrong.into_iter().take(PROBLEMS_MAX).collect();
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Sign(&'a str),
    /// A key, a value, `in` or `notin`.
    Word(&'a str),
}

impl<'a> Token<'a> {
    const fn text(self) -> &'a str {
        match self {
            Self::End => "",
            Self::Sign(text) | Self::Word(text) => text,
        }
    }

    /// The error when this token was found instead of what was expected.
    fn but(self, expected: &str) -> String {
        format!("found '{}', expected: {expected}", self.text())
    }

    /// Whether a requirement may begin with this token.
    fn begins(self) -> bool {
        matches!(self, Self::Word(_) | Self::Sign("!"))
    }
}

/// The rest of a selector, from the next token on.
#[derive(Debug, Clone, Copy)]
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        Self(text.trim_start_matches(is_space))
    }

    fn peek(self) -> Token<'a> {
        let Self(rest) = self;
        if rest.is_empty() {
            return Token::End;
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        sign.map_or_else(|| Token::Word(word(rest)), |sign| Token::Sign(sign))
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        let rest = self.0.get(token.text().len()..);
        *self = Self::of(rest.unwrap_or_default());
        token
    }

    /// Consumes the next token if it is this sign.
    fn take(&mut self, sign: &str) -> bool {
        let comes = self.peek() == Token::Sign(sign);
        if comes {
            self.next();
        }
        comes
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|one: char| is_space(one) || "=!,()<>".contains(one));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Source: `isWhitespace`.
const fn is_space(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\r' | '\n')
}

#[cfg(test)]
mod tests {
    use super::super::LabelSelector;
    use crate::object::Name;

    /// Source: upstream's `labels.Parser.parse`, which names the token that it did not expect.
    #[test]
    fn what_follows_a_requirement_is_named_by_its_first_token() {
        for (selector, found) in [
            ("a=b=c", "="),
            ("a=b==c", "=="),
            ("a=b c", "c"),
            ("a=b word,c", "word"),
            ("a in (b) (c)", "("),
        ] {
            let refused = LabelSelector::parse(selector).expect_err(selector);
            let wanted = format!("found '{found}', expected: ',' or 'end of string'");
            assert_eq!(refused, wanted, "{selector}");
        }
    }

    /// Source: upstream's `labels.Parser`.
    #[test]
    fn what_a_list_of_values_lacks_is_told() {
        for (selector, told) in [
            ("a in", "found '' expected: '('"),
            ("a in b", "found 'b' expected: '('"),
            ("a notin =", "found '=' expected: '('"),
            ("a in (", "found '', expected: ',', ')' or identifier"),
            ("a in (=", "found '=', expected: ',', ')' or identifier"),
            ("a in (b", "found '', expected: ',' or ')'"),
            ("a in (b c)", "found 'c', expected: ',' or ')'"),
            ("a in (b,", "found '', expected: ',', or identifier"),
            (
                "a within (b)",
                "found 'within', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ] {
            let refused = LabelSelector::parse(selector).expect_err(selector);
            assert_eq!(
                refused,
                format!("unable to parse requirement: {told}"),
                "{selector}"
            );
        }
        for (selector, empty, b) in [
            ("a in ()", true, false),
            ("a in (,b)", true, true),
            ("a in( b ,)", true, true),
        ] {
            let selector = LabelSelector::parse(selector).expect(selector);
            let matches =
                |value: &str| selector.matches(&[(Name::from("a"), Name::from(value))].into());
            assert_eq!((matches(""), matches("b")), (empty, b));
        }
    }

    /// Source: responses of upstream's server to the same selectors.
    #[test]
    fn what_cannot_begin_is_named() {
        let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
            end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
            validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
            or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
            or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        let first = "expected: !, identifier, or 'end of string'";
        let broken = "unable to parse requirement:";
        let integer = "for 'Gt', 'Lt' operators, the value must be an integer";
        for (selector, told) in [
            ("=", format!("found '=', {first}")),
            ("!=1", format!("found '!=', {first}")),
            (",a", format!("found ',', {first}")),
            (")", format!("found ')', {first}")),
            ("a,,b", "found ',', expected: identifier after ','".into()),
            ("a=1,", "found '', expected: identifier after ','".into()),
            ("!", format!("{broken} found '', expected: identifier")),
            ("!!a", format!("{broken} found '!', expected: identifier")),
            ("a==", String::new()),
            ("a=(", format!("{broken} found '(', expected: identifier")),
            (
                "a in (,,)",
                format!("{broken} found ')', expected: ',', or identifier"),
            ),
            (
                "a in (b,,)",
                format!("{broken} found ')', expected: ',', or identifier"),
            ),
            (
                "\"a\"",
                format!(r#"{broken} <nil>: Invalid value: "\"a\"": {name}"#),
            ),
            (
                "/a",
                format!(r#"{broken} <nil>: Invalid value: "/a": prefix part must be non-empty"#),
            ),
            (
                "a=b/c",
                format!(r#"{broken} values[0][a]: Invalid value: "b/c": {value}"#),
            ),
            (
                "a>x",
                format!(r#"{broken} values[0]: Invalid value: "x": {integer}"#),
            ),
            (
                "a in (-,b,_)",
                format!(
                    r#"{broken} [values[0][a]: Invalid value: "-": {value}, values[1][a]: Invalid value: "_": {value}]"#
                ),
            ),
        ] {
            let parsed = LabelSelector::parse(selector);
            assert_eq!(parsed.err().unwrap_or_default(), told, "{selector}");
        }
        // The number of reported values is limited.
        let many: Vec<String> = (0..100).map(|one| format!("-{one}")).collect();
        let refused = LabelSelector::parse(&format!("a in ({})", many.join(",")));
        let told = refused.expect_err("all are wrong");
        assert_eq!(told.matches("Invalid value").count(), super::PROBLEMS_MAX);
    }
}
