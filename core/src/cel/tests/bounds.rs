//! Expressions that would crash the server, or keep it busy, if nothing bounded them.

use super::super::*;
use super::{assert_costs, env, told};
use crate::schema::{self, Work};
use serde_json::json;

/// Less than the stack of any thread of the server.
const STACK: usize = 1 << 20;

fn on_a_small_stack(call: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(call);
    thread.expect("a thread").join().expect("no panic");
}

fn nested(open: &str, inside: &str, close: &str, times: usize) -> String {
    format!("{}{inside}{}", open.repeat(times), close.repeat(times))
}

/// Every way in which an expression can grow, each repeated `times` times.
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
        nested("[1].transformList(i, v, ", "v", ")", times),
        nested("[1].transformMap(i, v, ", "v", ")", times),
        nested("[1].transformMapEntry(i, v, {v: ", "v", "})", times),
        nested("", "[1]", ".transformMap(i, v, v)", times),
        nested("object[", "0", "]", times),
        nested("1 + ", "1", "", times),
        nested("true && ", "true", "", times),
        nested("object == 1 || ", "true", "", times),
        nested("", "object", ".a", times),
        nested("", "object", "[0]", times),
        nested("", "[1]", ".map(x, x)", times),
        nested("", "[1]", ".sortBy(x, x)", times),
        nested("", "dyn([1])", ".flatten()", times),
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

/// Looking at all operands again for each of them would take minutes.
#[test]
fn a_long_chain_is_read_in_one_go_and_as_deep_as_its_deepest_operand() {
    for sign in ["||", "&&"] {
        let source = vec!["a"; LENGTH_MAX / 3].join(sign);
        for _ in 0..50 {
            let root = parse::parse(&source).expect("a chain");
            assert_eq!(
                (root.depth, root.expr.children().len()),
                (2, LENGTH_MAX / 3)
            );
        }
    }
    for (source, depth) in [
        ("a || b || c", 2),
        ("(a && b) || c || d", 3),
        ("a || b || (c && !d) || e", 4),
        ("(a || !b) || c", 3),
        ("a || (b || !c)", 4),
        ("a && b || c && d && !e", 4),
    ] {
        assert_eq!(parse::parse(source).expect(source).depth, depth, "{source}");
    }
    for (times, fits) in [(DEPTH_MAX - 2, true), (DEPTH_MAX - 1, false)] {
        let source = format!("a || {} || b", nested("", "c", ".d", times));
        assert_eq!(parse::parse(&source).is_ok(), fits, "{times}");
    }
}

#[test]
fn a_type_does_not_grow_faster_than_its_expression() {
    let loops = |range: &dyn Fn(usize) -> String, body: &str| {
        let heads = (1..60).map(|one| format!("{}.all(v{one}, ", range(one)));
        let heads: String = heads.collect();
        format!("[1].all(v0, {heads}{body}{}", ")".repeat(60))
    };
    let doubled = loops(&|one| format!("[{{v{0}: v{0}}}]", one - 1), "v59 == v59");
    let deep = |loops: usize, body: &str| {
        let range = |one: usize| nested("[", &format!("v{}", one - 1), "]", 60 - one);
        let heads = (1..loops).map(|one| format!("{}.all(v{one}, ", range(one)));
        let heads: String = heads.collect();
        format!("[1].all(v0, {heads}{body}{}", ")".repeat(loops))
    };
    let deep = [
        deep(2, "v1 == v1"),
        deep(2, "v1 + 1 == 2"),
        deep(55, "true"),
    ];
    on_a_small_stack(move || {
        let error = told(&doubled);
        assert!(
            error.contains("unsupported key type: map(int, int)"),
            "{error}"
        );
        let [right, wrong, deeper] = deep.map(|source| told(&source));
        assert_eq!(right, "Bool(true)");
        assert!(wrong.contains("found no matching overload"), "{wrong}");
        assert!(
            deeper.contains("expression type recursion limit exceeded: 64"),
            "{deeper}"
        );
    });
}

#[test]
fn a_key_is_a_bool_a_number_that_is_whole_or_a_text() {
    for (source, said) in [
        (
            "{true: 1, 1: 2}.size() == 2",
            "expected type 'bool' but found 'int'",
        ),
        (
            "{1: 1}[1] == 1 && {1u: 1}[1u] == 1 && {true: 1}[true] == 1",
            "Bool(true)",
        ),
        ("{[1]: 2}.size() == 1", "unsupported key type: list(int)"),
        ("{1.5: 2}.size() == 1", "unsupported key type: double"),
        ("{null: 2}.size() == 1", "unsupported key type: null"),
        ("{dyn([1]): 2}.size() == 1", "unsupported key type: list"),
        ("{dyn(1.5): 2}.size() == 1", "unsupported key type: double"),
    ] {
        let told = told(source);
        assert!(told.contains(said), "{source}: {told}");
    }
}

#[test]
fn patterns_are_counted_over_all_expressions_and_not_compiled_beyond_their_number() {
    let mut env = env();
    env.patterns = Allowance::new(3);
    let compile = |source: &str| {
        let compiled = Program::compile(source, &env);
        compiled.map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(compile("'a'.matches('a') && 'a'.matches('b')").is_ok());
    // An expression that is refused has used up its patterns all the same.
    assert!(compile("'a'.matches('a') && nobody").is_err());
    assert!(!env.patterns.is_over());
    let error = compile("'a'.matches('(')").expect_err("too many");
    assert!(error.contains("more than 3 regular expressions"), "{error}");
    assert!(env.patterns.is_over());
    assert!(compile("true").is_ok());
}

/// Otherwise a configuration of some kilobytes would be compiled to hundreds of megabytes.
#[test]
fn a_large_pattern_counts_as_several() {
    for (pattern, is_told) in [
        ("a", None),
        (r"\\pL{40}", Some("counts as up to 16")),
        (r"\\pL{1000}", Some("size limit")),
    ] {
        let mut env = env();
        env.patterns = Allowance::new(4);
        let compiled = Program::compile(&format!("'a'.matches('{pattern}')"), &env);
        let told = compiled.map_err(|error| error.to_string()).err();
        assert_eq!(env.patterns.is_over(), is_told.is_some(), "{pattern}");
        let is_said =
            is_told.is_none_or(|what| told.as_ref().is_some_and(|told| told.contains(what)));
        assert!(told.is_some() == is_told.is_some() && is_said, "{told:?}");
    }
}

#[test]
fn the_patterns_of_an_expression_are_at_least_counted_by_its_text() {
    for (source, count) in [
        ("'a'.matches('a')", 1),
        ("'a'.find('a') == 'a' && matches('a', 'b')", 2),
        ("'a'.findAll('a').size() == 1", 1),
        ("object.raws == object.raws", 0),
    ] {
        assert!(Program::compile(source, &env()).is_ok(), "{source}");
        assert!(literals_max(source) >= count, "{source}");
        assert_eq!(literals_max(source) == 0, count == 0);
    }
}

/// Expressions about `document`, with the least and the most that they may cost.
const COSTS: &[(&str, u64, u64)] = &[
    ("self.raws != self.others", 1, 100),
    ("self.map != self.odd", 1, 100),
    ("self.map == self.map", 1000, 10_000),
    ("self.raws == self.raws", 20_000, 40_000),
    ("self.raws.all(r, r != b'')", 10_000, 20_000),
    ("self.raw == self.raw", 25_000, 40_000),
    ("self.raw <= self.raw", 25_000, 40_000),
    ("[self.raw, self.raw].isSorted()", 25_000, 40_000),
    ("[self.raw, self.raw].max() == b'' || true", 25_000, 60_000),
    ("[self.text, self.text].isSorted()", 10_000, 20_000),
    ("[self.text, self.text].min() != ''", 10_000, 20_000),
    ("!(self.text in self.map)", 10_000, 20_000),
    ("!self.?map[?self.text].hasValue()", 10_000, 20_000),
    ("!'a'.contains(self.text)", 10_000, 20_000),
    ("'a'.indexOf(self.text) == -1", 10_000, 20_000),
    ("!isQuantity(self.text)", 10_000, 20_000),
    (
        "duration(self.text) == duration('1s') || true",
        10_000,
        20_000,
    ),
    (
        "timestamp(self.text) == timestamp(0) || true",
        10_000,
        20_000,
    ),
    // Each pass has a node of its own, and costs for its key and for its value.
    ("self.map.all(k, v, true)", 3_000, 4_000),
    ("self.map.exists(k, v, v == 'y') || true", 5_000, 10_000),
    ("self.map.existsOne(k, v, k == 'k1')", 5_000, 10_000),
    (
        "self.raws.transformList(i, r, i).size() == 1000",
        13_000,
        20_000,
    ),
    (
        "self.map.transformMap(k, v, v).size() == 1000",
        3_000,
        4_000,
    ),
    (
        "self.map.transformMapEntry(k, v, {k: v}).size() == 1000",
        8_000,
        10_000,
    ),
    (
        "self.map.transformMapEntry(k, v, k == 'k1', {self.text: v}).size() == 1",
        15_000,
        25_000,
    ),
    ("!isIP(self.text)", 80_000, 90_000),
    ("!isCIDR(self.text + '/8')", 90_000, 100_000),
    ("cidr('::/8').containsIP(self.text) || true", 80_000, 90_000),
    (
        "cidr('::/8').containsCIDR(self.text) || true",
        80_000,
        90_000,
    ),
    ("ip.isCanonical(self.text) || true", 80_000, 90_000),
    (
        "format.named('dns1123Label').value().validate(self.text).hasValue()",
        80_000,
        90_000,
    ),
    (
        "format.byte().validate(self.text).hasValue() || true",
        80_000,
        90_000,
    ),
    ("!isSemver(self.text)", 40_000, 50_000),
    ("!isSemver(self.text, true)", 40_000, 50_000),
    (
        "semver('1.0.0-' + self.text).compareTo(semver('1.0.0-' + self.text)) == 0",
        110_000,
        120_000,
    ),
    (
        "semver('1.0.0-' + self.text) != semver('1.0.0')",
        50_000,
        60_000,
    ),
    ("strings.quote(self.text) != ''", 30_000, 40_000),
    ("!isURL(self.text)", 40_000, 50_000),
    ("url('/' + self.text).getPort() == ''", 90_000, 100_000),
    (
        "url('/' + self.text) == url('/' + self.text)",
        190_000,
        200_000,
    ),
    (
        "url('/?' + self.text).getQuery().size() == 1",
        170_000,
        180_000,
    ),
    ("self.text.matches('A')", 10_000, 20_000),
    ("!'a'.matches(self.map.k1)", 20_000, 21_000),
    ("self.text.findAll('A', 10).size() == 10", 100_000, 200_000),
    (
        "self.text.findAll('.*[^A-Z]|[A-Z]').size() > 0 || true",
        1_000_000,
        1_100_000,
    ),
];

#[test]
fn what_is_looked_at_is_paid_for_and_what_is_not_is_not() {
    let text = json!({"type": "string"});
    let raw = json!({"type": "string", "format": "byte"});
    let list = json!({"type": "array", "items": raw});
    let map = json!({"type": "object", "additionalProperties": text});
    let schema = schema::parse(&json!({"type": "object", "properties": {
        "text": text, "raw": raw, "raws": list, "others": list, "map": map, "odd": map}}));
    let raws = vec!["QUFB".repeat(25); 1000];
    let mut others = raws.clone();
    others[0] = "QUFC".to_owned();
    let keys: serde_json::Map<_, _> = (0..1000)
        .map(|one| (format!("k{one}"), json!("x")))
        .collect();
    let mut odd = keys.clone();
    odd["k0"] = json!("y");
    let document = json!({"text": "A".repeat(100_000), "raw": "QUFB".repeat(25_000), "raws": raws,
        "others": others, "map": keys, "odd": odd});
    assert_costs(COSTS, &schema, &document);
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
        format!("{list}.all(a, b, {list}.all(c, d, {list}.transformMap(e, f, {list}) != {{}}))"),
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
    let mut meter = Meter::new(60, Work::default());
    let spent = |meter: &mut Meter| program.evaluate(&[], meter).is_err();
    let failures: Vec<bool> = (0..5).map(|_| spent(&mut meter)).collect();
    assert_eq!(failures.first(), Some(&false));
    assert_eq!(failures.last(), Some(&true));
    assert!(meter.is_empty());
}

/// Random sequences of fragments: whatever the text is, compiling it returns.
#[test]
fn no_text_stops_the_reader() {
    const PIECES: [&str; 43] = [
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
        ".all(x,y,",
        ".sortBy(x,",
        ".transformMapEntry(x,y,{x:",
        "ip('1::2')",
        "url('//[')",
        "net.IP",
        "format.uri().",
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
