//! Expressions that would take the server down, or keep it busy.

use super::super::*;
use super::{env, told};

/// Less than any thread of the server has.
const STACK: usize = 1 << 20;

fn on_a_small_stack(call: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(call);
    thread.expect("a thread").join().expect("no panic");
}

fn nested(open: &str, inside: &str, close: &str, times: usize) -> String {
    format!("{}{inside}{}", open.repeat(times), close.repeat(times))
}

/// The shapes in which an expression grows, each at a size.
fn shapes(times: usize) -> Vec<String> {
    vec![
        nested("(", "1", ")", times),
        nested("[", "1", "]", times),
        nested("{'a': ", "1", "}", times),
        nested("dyn(", "1", ")", times),
        nested("-(", "1", ")", times),
        nested("! ", "true", "", times),
        nested("- ", "1.0", "", times),
        nested("true ? 1 : ", "2", "", times),
        nested("[1].map(x, ", "x", ")", times),
        nested("object[", "0", "]", times),
        nested("1 + ", "1", "", times),
        nested("true && ", "true", "", times),
        nested("object == 1 || ", "true", "", times),
        nested("", "object", ".a", times),
        nested("", "object", "[0]", times),
        nested("", "[1]", ".map(x, x)", times),
        nested("", "object", ".?a", times),
        nested("", "'a'", ".trim()", times),
        nested("1 in [", "1", "]", times),
        nested("1 == ", "1", "", times),
        nested("'a' in ", "[]", "", times),
    ]
}

#[test]
fn whatever_nests_is_read_and_evaluated_or_refused_on_a_small_stack() {
    on_a_small_stack(|| {
        for times in [
            10,
            DEPTH_MAX - 2,
            DEPTH_MAX,
            DEPTH_MAX + 1,
            1000,
            LENGTH_MAX,
        ] {
            for source in shapes(times) {
                let told = told(&source);
                assert!(!told.is_empty(), "{source}");
            }
        }
    });
}

#[test]
fn an_expression_that_nests_too_deep_or_is_too_long_is_refused() {
    for (source, said) in [
        (
            nested("(", "1", ")", DEPTH_MAX + 1),
            "expression recursion limit exceeded: 64",
        ),
        (
            nested("", "object", ".a", DEPTH_MAX),
            "expression recursion limit exceeded: 64",
        ),
        (
            nested("'a'.matches('a') && ", "true", "", PATTERNS_MAX + 1),
            "expression has more than 16 regular expressions",
        ),
        (
            " ".repeat(LENGTH_MAX + 1),
            "expression is longer than 32768 bytes",
        ),
    ] {
        let error = Program::compile(&source, &env()).expect_err("too much");
        assert!(error.to_string().contains(said), "{error}");
    }
    let flat = nested("true && ", "true", "", 1000);
    assert_eq!(told(&flat), "Bool(true)");
}

#[test]
fn an_expression_that_would_take_too_long_is_stopped() {
    let items = (0..100).map(|one| one.to_string()).collect::<Vec<_>>();
    let list = format!("[{}]", items.join(","));
    let hundredfold = |inside: &str| format!("{list}.map(x, {inside})");
    let doubled = |times: usize| {
        nested(
            "optional.of(",
            "'aaaaaaaaaaaaaaaa'",
            ").optMap(s, s + s).value()",
            times,
        )
    };
    for source in [
        format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, true))))"),
        format!(
            "size({}) > 1",
            hundredfold(&hundredfold(&hundredfold("[x]")))
        ),
        format!("size({}) > 1", doubled(20)),
        format!(
            "{list}.all(a, {list}.all(b, {list}.map(c, string(c)).join('').matches(string(a) + string(b) + '.*') || true))"
        ),
        format!(
            "{list}.map(x, {list}) == {list}.map(x, {list}) && {list}.all(y, {list}.map(x, {list}) == {list}.map(x, {list}))"
        ),
        format!(
            "size({}) > 1",
            nested(
                "",
                "'aaaaaaaaaaaaaaaa'",
                ".replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
                10
            )
        ),
    ] {
        assert_eq!(
            told(&source),
            "operation cancelled: actual cost limit exceeded",
            "{source}"
        );
    }
}

#[test]
fn what_is_spent_by_one_expression_is_missing_to_the_next() {
    let (program, _) = Program::compile("[1, 2, 3].all(x, x > 0)", &env()).expect("an expression");
    let mut meter = Meter::new(60);
    let spent = |meter: &mut Meter| program.evaluate(&[], meter).is_err();
    let failures: Vec<bool> = (0..5).map(|_| spent(&mut meter)).collect();
    assert_eq!(failures.first(), Some(&false));
    assert_eq!(failures.last(), Some(&true));
    assert!(meter.is_empty());
}

/// Texts made of pieces of expressions: whatever they are, there is an answer.
#[test]
fn no_text_stops_the_reader() {
    const PIECES: [&str; 36] = [
        "object",
        ".",
        "a",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "?",
        ":",
        "1",
        "'",
        "\"",
        "\\",
        "r'",
        "b'",
        "0x",
        "1e",
        "1u",
        "-",
        "!",
        "&&",
        "||",
        "==",
        "in",
        " ",
        "\n",
        "`",
        "has(",
        ".all(x,",
        ".?",
        "[?",
        "\u{e9}",
        "//",
        ".format([",
    ];
    on_a_small_stack(|| {
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            let mut source = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let index = usize::try_from(seed >> 33).unwrap_or(0) % PIECES.len();
                source.push_str(PIECES.get(index).copied().unwrap_or_default());
            }
            assert!(!told(&source).is_empty(), "{source}");
        }
    });
}
