//! How much work regular expressions may be, beside the steps of an expression.

use super::super::*;
use super::env;
use crate::schema::{WORK_MAX, Work};
use serde_json::{Value as Json, json};

/// What an expression about a text comes to, and how much work it was.
fn worked(source: &str, object: &Json, work: u64) -> (Result<String, Fault>, u64) {
    let (program, _) = Program::compile(source, &env()).expect(source);
    let mut meter = Meter::new(10_000_000, Work::new(work));
    let value = program.evaluate(&[("object", Value::of(object))], &mut meter);
    let told = value.map(|value| format!("{value:?}"));
    assert_eq!(meter.is_empty(), told.is_err(), "{source}");
    (told, work - meter.work.left())
}

/// None of these takes many steps, and each would take seconds or minutes.
#[test]
fn texts_are_not_matched_with_slow_regular_expressions_without_end() {
    let object = json!({"long": "a".repeat(300_000), "empty": vec![""; 300]});
    for source in [
        "!object.long.matches('[a-z]{1000}00')",
        "!matches(object.long, '[a-z]{1000}00')",
        "object.long.find('[a-z]{1000}00') == ''",
        "object.long.findAll('[a-z]{1000}00') == []",
        "true || object.long.matches('[a-z]{1000}00')",
        "object.empty.all(a, object.empty.all(b, b.matches('^(?:a?){1000}(?:b?){1000}(?:c?){1000}$')))",
    ] {
        let work = if source.contains("empty") {
            50_000
        } else {
            WORK_MAX
        };
        let expected = if source.starts_with("true") {
            (Ok("Bool(true)".to_owned()), 0)
        } else {
            (Err(Fault::Exhausted), work)
        };
        assert_eq!(worked(source, &object, work), expected, "{source}");
    }
}

/// Each search through what is left of the text: for the next part, and for the one behind an empty one.
#[test]
fn each_search_of_a_text_is_paid_for() {
    let object = json!({"t": "a".repeat(99), "none": "b".repeat(99)});
    let one = worked("object.none.matches('a')", &object, WORK_MAX).1;
    for (source, searches) in [
        ("object.none.find('a') == ''", 1..=1),
        ("object.none.findAll('a') == []", 1..=1),
        ("object.t.findAll('a').size() == 99", 50..=51),
        ("object.t.findAll('a', 1).size() == 1", 2..=2),
        // Two for each empty part, each with seven states for six.
        ("object.none.findAll('a?').size() == 100", 118..=118),
    ] {
        let (told, work) = worked(source, &object, WORK_MAX);
        let told = (told, searches.contains(&work.div_ceil(one)));
        assert_eq!(
            told,
            (Ok("Bool(true)".to_owned()), true),
            "{source}: {work} of {one}"
        );
    }
}

/// A pattern that an expression makes is compiled each time.
#[test]
fn what_it_takes_to_compile_is_paid_for() {
    for (pattern, least, most) in [
        ("a".to_owned(), 256, 300),
        ("a(".repeat(1000), 512_000, 513_000),
        ("(?i)[a-\u{10ffff}]".to_owned(), 2_000_000, 2_300_000),
        ("(?i)[a-\u{10ffff}](".to_owned(), 0, 10_000),
        ("(?i)[a-\u{10ffff}]\\p{Nobody}".to_owned(), 0, 10_000),
        (
            "(?i)[a-\u{10ffff}]\\pL{1000}".to_owned(),
            3_000_000,
            3_500_000,
        ),
    ] {
        let object = json!({"p": pattern});
        let (_, work) = worked("''.matches(object.p) || true", &object, WORK_MAX);
        assert!((least..=most).contains(&work), "{pattern}: {work}");
        if least > 0 {
            let (told, _) = worked("''.matches(object.p) || true", &object, least);
            assert_eq!(told, Err(Fault::Exhausted), "{pattern}");
        }
    }
}

#[test]
fn parts_that_match_do_not_overlap_and_an_empty_one_is_not_right_behind_another() {
    for (text, pattern, parts) in [
        ("baaac", "a*", "['', 'aaa', '']"),
        ("\u{e9}a\u{e9}", "a*", "['', 'a', '']"),
        ("\u{e9}\u{e9}", "", "['', '', '']"),
        ("aa", r"\\b", "['', '']"),
        ("a\u{e9}\u{e9}a a", r"\\B", "['']"),
        ("abab", "ab|b", "['ab', 'ab']"),
        ("abcab", "^a", "['a']"),
    ] {
        let source = format!("object.t.findAll('{pattern}') == {parts}");
        let (told, _) = worked(&source, &json!({"t": text}), WORK_MAX);
        assert_eq!(told, Ok("Bool(true)".to_owned()), "{source}");
    }
}
