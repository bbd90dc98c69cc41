//! What expressions evaluate to, and which are refused.

mod bounds;
mod formats;
mod libraries;
mod loops;
mod matching;
mod sequences;

use super::*;
use crate::schema::{self, Work};
use serde_json::json;

/// Every line is true.
const TRUE: &str = r#"
1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 % 3 == 1 && -7 / 2 == -3 && 0x1F == 31
1u + 2u == 3u && 1.5 + .5 == 2.0 && 1e3 == 1000.0 && -9223372036854775808 < 0
1 < 2.5 && 2u > 1 && 1.0 <= 1 && 'a' < 'b' && b'a' < b'b'
!false && !!true && (true ? 1 : 2) == 1
'a' + "b" + r'\n' == 'ab\\n' && '''it's''' == "it's" && '\x41\u0042\103' == 'ABC'
b'\xff'.size() == 1 && bytes('ab') == b'ab' && string(b'ab') == 'ab'
[1, 2] + [3] == [1, 2, 3] && 2 in [1, 2] && !(3 in [1, 2]) && [1, 2][1] == 2
{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && 'a' in {'a': 1} && {'a': 1} == {'a': 1}
has({'a': 1}.a) && !has({'a': 1}.b)
[1, 2, 3].all(x, x > 0) && [1, 2].exists(x, x == 2) && [1, 2].exists_one(x, x == 2)
[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]
[1, 2, 3].filter(x, x > 1) == [2, 3] && {'a': 1, 'b': 2}.all(k, k != 'c')
[[1], [2]].all(x, x.all(x, x > 0))
true || 1 / 0 == 1
1 / 0 == 1 || true
!(false && 1 / 0 == 1) && !(1 / 0 == 1 && false)
[1, 0].exists(x, 1 / x == 1) && ![1, 0].all(x, 1 / x == 2)
size('\u00e9t\u00e9') == 3 && 'abc'.size() == 3 && size([1]) == 1 && size({'a': 1}) == 1
type(1) == int && type('') == string && type([]) == list && type(type(1)) == type
int('7') == 7 && int(7.9) == 7 && uint(7) == 7u && double('1.5') == 1.5 && string(7) == '7' && bool('true')
'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')
'hello'.charAt(1) == 'e' && 'hello'.charAt(5) == '' && 'hello'.substring(1, 3) == 'el' && 'hello'.substring(3) == 'lo'
'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3 && 'hello'.indexOf('x') == -1 && 'hello'.indexOf('l', 3) == 3
'hello'.replace('l', 'L') == 'heLLo' && 'hello'.replace('l', 'L', 1) == 'heLlo'
'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'abc'.split('') == ['a', 'b', 'c']
['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && ' a '.trim() == 'a' && 'aB'.lowerAscii() == 'ab' && 'aB'.upperAscii() == 'AB'
'%s is %d, %.2f'.format(['x', 3, 1.5]) == 'x is 3, 1.50' && '%s %x%%'.format([[1, 2], 255]) == '[1, 2] ff%'
string(1000000.0) == '1e+06' && string(123456.0) == '123456' && string(1e-7) == '1e-07' && string(0.0001) == '0.0001' && string(-1.5e300) == '-1.5e+300' && string(double('Infinity')) == '+Inf' && string(double('-Infinity')) == '-Inf' && string(double('NaN')) == 'NaN'
'%s'.format([[dyn('a"\n'), dyn(b'b'), dyn(1), dyn(2u), dyn(1.5), dyn(true), dyn(null), dyn({'k': dyn([1]), 'a': dyn('b')}), dyn({2: 1, 1: 2})]]) == '["a\\"\\n", b"b", 1, 2, 1.500000, true, null, {"a":"b", "k":[1]}, {1:2, 2:1}]'
'%s %s'.format([[dyn(timestamp('2023-01-02T03:04:05Z')), dyn(duration('1.5s'))], {}]) == '[timestamp("2023-01-02T03:04:05Z"), duration("1.5s")] {}'
'%x %X %x %x %X'.format(['hi', b'\xff', -255, 255u, 171]) == '6869 FF -ff ff AB' && '%b %b %b %o %o'.format([-5, 5u, true, -8, 8u]) == '-101 101 1 -10 10'
'abc'.matches('^a.c$') && matches('abc', 'b') && 'abc 123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1b2'.findAll('[0-9]', 1) == ['1']
[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2].isSorted() && !['b', 'a'].isSorted()
[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(5) == -1
sets.contains([1, 2], [2]) && sets.intersects([1, 2], [2, 3]) && sets.equivalent([1, 2], [2, 1, 1])
optional.of(1).value() == 1 && !optional.none().hasValue() && optional.none().orValue(2) == 2
[1][ ?5].orValue(9) == 9 && {'a': 1}. ?a.hasValue() && [ ?optional.none()] == [] && { ?'a': optional.none()} == {}
{'a': {'b': 1}}.?a.b.orValue(0) == 1 && {'a': {'b': 1}}.?c.b.orValue(7) == 7 && [1][?5].orValue(9) == 9
optional.of(2).optMap(x, x * 2).value() == 4 && [?optional.none(), ?optional.of(1)] == [1] && {?'a': optional.of(1)} == {'a': 1}
optional.ofNonZeroValue('').or(optional.of('x')).value() == 'x'
timestamp('2023-01-02T03:04:05Z').getFullYear() == 2023 && timestamp('2023-01-02T03:04:05Z').getHours() == 3 && timestamp('2023-01-02T03:04:05.5Z').getMilliseconds() == 500
timestamp('2023-01-02T00:00:00Z') - timestamp('2023-01-01T00:00:00Z') == duration('24h') && duration('90m').getHours() == 1 && string(duration('1.5s')) == '1.5s'
timestamp('2023-01-01T00:00:00Z') + duration('1h') < timestamp('2023-01-01T02:00:00Z') && string(timestamp('2023-01-01T01:00:00+01:00')) == '2023-01-01T00:00:00Z'
quantity('1500m').isGreaterThan(quantity('1')) && quantity('1Ki').asInteger() == 1024 && isQuantity('5Gi') && !isQuantity('x') && quantity('1').add(quantity('500m')).compareTo(quantity('1.5')) == 0
optional.of(1).orValue(1 / 0) == 1 && optional.of(1).or(optional.of(1 / 0)).value() == 1 && optional.none().or(optional.of(2)).orValue(1 / 0) == 2
{'m': {'a': 1}}.?m['a'].value() == 1 && {'l': [1]}.?l[0].value() == 1 && !{'l': [1]}.?l[1].hasValue() && !{'l': [1]}.?x[1].hasValue()
[1u].filter(x, x > 1u).sum() == 0u && [1.5].filter(x, x > 2.0).sum() == 0.0 && [duration('1s')].filter(x, false).sum() == duration('0s') && [1].filter(x, false).sum() == 0
duration('61.5s').getMilliseconds() == 61500 && int(duration('1us')) == 1000
'\u00e9\u00e9a'.lastIndexOf('a', 0) == -1 && '\u00e9\u00e9a'.lastIndexOf('a', 2) == 2 && '\u00e9\u00e9a'.lastIndexOf('\u00e9', 0) == 0 && 'hello'.lastIndexOf('l', 2) == 2
'hello'.lastIndexOf('l', 5) == -1 && 'hello'.indexOf('l', 5) == -1 && 'hello'.indexOf('l', 99) == -1 && 'hello'.indexOf('', 3) == 3 && 'hello'.lastIndexOf('', 3) == 3 && 'hello'.lastIndexOf('') == 5
''.split('') == [] && ''.split(',') == [''] && [1, 2][dyn(1u)] == 2 && [1, 2][dyn(1.0)] == 2
object.spec.replicas == 3 && object.metadata.labels['a.b/c'] == 'x' && 'a.b/c' in object.metadata.labels
!has(object.spec.missing) && object.spec.items.exists(i, i.name == 'two') && object.spec.half == 0.5
dyn(1) == dyn('1') ? false : true
object.?spec.?missing.orValue('none') == 'none' && oldObject == null
"#;

fn env() -> Env<'static> {
    Env {
        variables: vec![
            ("object", Type::Dyn),
            ("oldObject", Type::Dyn),
            ("number", Type::INT),
        ],
        patterns: Allowance::new(PATTERNS_MAX),
    }
}

fn object() -> serde_json::Value {
    json!({
        "metadata": {"labels": {"a.b/c": "x"}},
        "spec": {"replicas": 3, "half": 0.5, "items": [{"name": "one"}, {"name": "two"}]},
    })
}

/// A document, read according to its schema.
fn read<'a>(document: &'a serde_json::Value, schema: &'a schema::Schema) -> Value<'a> {
    let mut meter = Meter::new(1_000_000, Work::default());
    meter.begin();
    Value::read(&mut meter, document, Some(schema)).expect("a value")
}

/// Evaluates expressions that are true, or stopped, and compares what they cost with the least and the most that each
/// may.
fn assert_costs(costs: &[(&str, u64, u64)], schema: &schema::Schema, document: &serde_json::Value) {
    let env = Env {
        variables: vec![("self", Type::of(schema, false).expect("an object"))],
        patterns: Allowance::new(PATTERNS_MAX),
    };
    for (source, least, most) in costs {
        let (program, _) = Program::compile(source, &env).expect(source);
        let mut meter = Meter::new(10_000_000, Work::default());
        let value = program.evaluate(&[("self", read(document, schema))], &mut meter);
        let spent = 10_000_000 - meter.left();
        assert!((*least..=*most).contains(&spent), "{source}: {spent}");
        let is_stopped = *least >= 1_000_000;
        let expected = if is_stopped {
            "Err(Exhausted)"
        } else {
            "Ok(Bool(true))"
        };
        assert_eq!(format!("{value:?}"), expected, "{source}");
    }
}

/// The value of an expression, or its error, as text.
fn told(source: &str) -> String {
    let (program, _) = match Program::compile(source, &env()) {
        Ok(compiled) => compiled,
        Err(error) => return error.to_string(),
    };
    let object = object();
    let variables = [
        ("object", Value::of(&object)),
        ("oldObject", Value::Null),
        ("number", Value::Int(7)),
    ];
    let value = program.evaluate(&variables, &mut Meter::new(10_000_000, Work::default()));
    value.map_or_else(|fault| fault.to_string(), |value| format!("{value:?}"))
}

#[test]
fn expressions_come_to_what_kubernetes_says() {
    let lines = TRUE.lines().map(str::trim);
    for line in lines
        .filter(|line| !line.is_empty())
        .chain(["// why\ntrue // so"])
    {
        assert_eq!(told(line), "Bool(true)", "{line}");
    }
}

#[test]
fn what_goes_wrong_is_said_as_upstream_says_it() {
    for (source, said) in [
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("-(-9223372036854775808) == 0", "integer overflow"),
        ("object.missing == 1", "no such key: missing"),
        ("object['missing'] == 1", "no such key: missing"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ("[1][-1] == 1", "index out of bounds: -1"),
        ("object.spec.replicas.startsWith('a')", "no such overload"),
        ("object.spec + 1 == 2", "no such overload"),
        ("object.spec && true", "no such overload"),
        (
            "int('x') == 1",
            "type conversion error from 'string' to 'int'",
        ),
        ("int(1e99) == 1", "integer overflow"),
        (
            "uint('+7') == 7u",
            "type conversion error from 'string' to 'uint'",
        ),
        (
            "double('1e400') > 1.0",
            "type conversion error from 'string' to 'double'",
        ),
        ("[1, 2][dyn(1.5)] == 1", "no such overload"),
        ("'a'.indexOf('a', -1) == 0", "index out of range: -1"),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)",
            "integer overflow",
        ),
        ("optional.none().orValue(1 / 0) == 1", "division by zero"),
        (
            "optional.none().value() == 1",
            "optional.none() dereference",
        ),
        (
            "[1].filter(x, x > 1).max() == 1",
            "max called on empty list",
        ),
        ("{'a': 1, 'a': 2}.size() == 1", "Failed with repeated key"),
        (
            "'abc'.matches(object.metadata.labels['a.b/c'] + '(')",
            "error parsing regexp: unclosed group",
        ),
    ] {
        assert_eq!(told(source), said, "{source}");
    }
}

/// Expressions that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "",
        "1:1: Syntax error: mismatched input '<EOF>' expecting an expression",
    ),
    (
        "1 +",
        "1:4: Syntax error: mismatched input '<EOF>' expecting an expression",
    ),
    (
        "1 2",
        "1:3: Syntax error: mismatched input '2' expecting <EOF>",
    ),
    (
        "(1",
        "1:3: Syntax error: mismatched input '<EOF>' expecting ')'",
    ),
    ("'a", "1:1: Syntax error: unterminated string"),
    ("'\\q' == ''", "1:1: unable to unescape string: \\q"),
    (
        "a # b",
        "1:3: Syntax error: token recognition error at: '#'",
    ),
    (
        "nobody == 1",
        "1:1: undeclared reference to 'nobody' (in container '')",
    ),
    (
        "now() == 1",
        "1:4: undeclared reference to 'now' (in container '')",
    ),
    (
        "number.foo == 1",
        "1:7: type 'int' does not support field selection",
    ),
    (
        "number + 'a' == 1",
        "1:8: found no matching overload for '_+_' applied to '(int, string)'",
    ),
    (
        "number == 'a'",
        "1:8: found no matching overload for '_==_' applied to '(int, string)'",
    ),
    (
        "'a'.startsWith(1)",
        "1:15: found no matching overload for 'startsWith' applied to 'string.(int)'",
    ),
    (
        "[1, 'a'] == []",
        "1:5: expected type 'int' but found 'string'",
    ),
    ("[1].all(x, x)", "1:8: expected type 'bool' but found 'int'"),
    ("[1].all(1, true)", "1:8: argument must be a simple name"),
    (
        "number.all(x, true)",
        "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ),
    ("has(object)", "1:4: invalid argument to has() macro"),
    (
        "'a'.matches('(')",
        "1:13: error parsing regexp: unclosed group",
    ),
    (
        "duration('nope') == duration('1s')",
        "1:10: invalid duration argument",
    ),
    (
        "timestamp('nope') == timestamp(0)",
        "1:11: invalid timestamp argument",
    ),
    ("1e400 == 1.0", "1:1: invalid double literal"),
    ("'\\x+1' == ''", "1:1: unable to unescape string: +1"),
    (
        "rb'a' == b'a'",
        "1:3: Syntax error: mismatched input ''a'' expecting <EOF>",
    ),
    (
        "-duration('1s') == duration('1s')",
        "1:1: found no matching overload for '-_' applied to '(google.protobuf.Duration)'",
    ),
    (
        "base64.decode('aGk=') == b'hi'",
        "1:1: undeclared reference to 'base64' (in container '')",
    ),
    (
        "'ab'.reverse() == 'ba'",
        "1:13: found no matching overload for 'reverse' applied to 'string.()'",
    ),
    ("namespace == 1", "1:1: reserved identifier: namespace"),
    ("99999999999999999999 == 1", "1:1: invalid int literal"),
    ("9223372036854775808 == 1", "1:1: invalid int literal"),
    (
        "authorizer.path('/x').check('get').allowed()",
        "1:1: undeclared reference to 'authorizer' (in container '')",
    ),
];

#[test]
fn what_is_no_expression_is_refused_before_it_is_evaluated() {
    for (source, said) in REFUSED {
        let error = told(source);
        let first = error.lines().next().unwrap_or_default();
        assert_eq!(first, format!("ERROR: <input>:{said}"), "{source}");
    }
}

#[test]
fn an_error_shows_where_it_is() {
    assert_eq!(
        told("number ==\n number.foo"),
        "ERROR: <input>:2:8: type 'int' does not support field selection\n |  number.foo\n | .......^"
    );
}

#[test]
fn the_type_of_an_expression_is_known_before_it_is_evaluated() {
    for (source, type_name) in [
        ("1", "int"),
        ("[1, 2]", "list(int)"),
        ("{'a': [1u]}", "map(string, list(uint))"),
        ("object.a", "dyn"),
        ("[1].map(x, string(x))", "list(string)"),
        ("true ? 1 : 2", "int"),
        ("true ? object : 2", "dyn"),
        ("optional.of('a')", "optional_type(string)"),
        ("optional.of('a').orValue('b')", "string"),
        ("timestamp(1) - timestamp(0)", "google.protobuf.Duration"),
        ("object + 1", "int"),
        ("object + object", "dyn"),
        ("'a'.split(',')", "list(string)"),
        ("quantity('1')", "kubernetes.Quantity"),
        ("object.a.b > 1", "bool"),
    ] {
        let (_, found) = Program::compile(source, &env()).expect(source);
        assert_eq!(found.to_string(), type_name, "{source}");
    }
}

/// A schema with a member of each type.
fn typed() -> schema::Schema {
    schema::parse(&json!({
        "type": "object", "properties": {
            "size": {"type": "integer"}, "ratio": {"type": "number"},
            "max-size": {"type": "integer"}, "namespace": {"type": "string"},
            "any": {"x-kubernetes-int-or-string": true},
            "when": {"type": "string", "format": "date-time"},
            "span": {"type": "string", "format": "duration"},
            "days": {"type": "string", "format": "duration"},
            "text": {"type": "string", "format": "datetime"},
            "wrong": {"type": "string", "format": "date-time"},
            ".dot": {"type": "integer"},
            "raw": {"type": "string", "format": "byte"},
            "unknown": {"x-kubernetes-preserve-unknown-fields": true},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}},
        },
    }))
}

#[test]
fn objects_of_a_schema_have_the_types_of_the_schema() {
    let schema = typed();
    let document = json!({"size": 3, "ratio": 2, "max-size": 5, "namespace": "n", "any": "80",
        "when": "2023-01-01T00:00:00Z", "span": "90m", "days": "3 days",
        "text": "2023-01-01T00:00:00Z", "wrong": "2023-01-01T00:00:00+25:99", ".dot": 1, "raw": "aGk=", "labels": {"a-b": "c"},
        "set": ["a", "b"], "map": [{"k": "x", "v": 1}, {"k": "y", "v": 2}],
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "m", "labels": {}}});
    let other = json!({"set": ["b", "a"], "map": [{"k": "y", "v": 2}, {"k": "x", "v": 1}]});
    let self_type = Type::of(&schema, true).expect("an object");
    let env = Env {
        variables: vec![("self", self_type.clone()), ("other", self_type)],
        patterns: Allowance::new(0),
    };
    for source in [
        "self.size == 3 && self.ratio == 2.0 && self.max__dash__size == 5",
        "self.__namespace__ == 'n' && self.kind == 'K' && self.metadata.name == 'm'",
        "self.any == '80' && self.when.getFullYear() == 2023 && self.span == duration('1h30m')",
        "self.raw == b'hi' && self.labels['a-b'] == 'c' && self.labels.all(k, k == 'a-b')",
        "self.set == other.set && self.map == other.map && self.set + ['a', 'c'] == ['a', 'b', 'c']",
        "self.days == duration('72h') && self.text == '2023-01-01T00:00:00Z' && has(self.__dot__dot)",
        "self.set == ['b', 'a'] && !(['b', 'a'] == self.set) && self.set + ['c'] == ['c', 'b', 'a']",
        "(self.set + ['a'] + ['b']).size() == 2 && self.map == [other.map[0], other.map[1]]",
        "(self.wrong == timestamp(0) || true) && has(self.wrong)",
        "(self.map + other.map).size() == 2 && (other.map + self.map)[0].k == 'y'",
    ] {
        let (program, _) =
            Program::compile(source, &env).unwrap_or_else(|error| panic!("{source}: {error}"));
        let variables = [
            ("self", read(&document, &schema)),
            ("other", read(&other, &schema)),
        ];
        let value = program.evaluate(&variables, &mut Meter::new(1_000_000, Work::default()));
        assert!(
            matches!(value, Ok(Value::Bool(true))),
            "{source}: {value:?}"
        );
    }
    for (source, said) in [
        ("self.missing == 1", "undefined field 'missing'"),
        ("self.namespace == ''", "undefined field 'namespace'"),
        ("self.unknown == 1", "undefined field 'unknown'"),
        ("self.metadata.labels == {}", "undefined field 'labels'"),
        (
            "self.size == 'a'",
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
    ] {
        let error = Program::compile(source, &env)
            .expect_err(source)
            .to_string();
        assert!(error.contains(said), "{source}: {error}");
    }
}

#[test]
fn permissions_are_asked_for_and_the_answer_may_be_looked_at() {
    #[derive(Debug)]
    struct OnlyPods;
    impl Authority for OnlyPods {
        fn refusal(&self, access: &Access) -> Option<String> {
            (access.resource != "pods").then(|| format!("{access:?}"))
        }
    }
    let env = Env {
        variables: vec![("authorizer", Type::Plain("authorizer"))],
        patterns: Allowance::new(0),
    };
    for (source, expected) in [
        (
            "authorizer.group('').resource('pods').check('get').allowed()",
            true,
        ),
        (
            "authorizer.group('').resource('nodes').check('get').allowed()",
            false,
        ),
        (
            "authorizer.group('a').resource('b').subresource('c').namespace('d').name('e').check('f').reason() == 'Access { service_account: None, group: \"a\", resource: \"b\", subresource: \"c\", namespace: \"d\", name: \"e\", verb: \"f\" }'",
            true,
        ),
        (
            "authorizer.serviceAccount('n', 's').group('').resource('b').check('f').reason().contains('Some((\"n\", \"s\"))')",
            true,
        ),
    ] {
        let (program, _) =
            Program::compile(source, &env).unwrap_or_else(|error| panic!("{source}: {error}"));
        let variables = [("authorizer", Value::authorizer(&OnlyPods))];
        let value = program.evaluate(&variables, &mut Meter::new(1_000_000, Work::default()));
        let Ok(Value::Bool(found)) = value else {
            panic!("{source}: {value:?}");
        };
        assert_eq!(found, expected, "{source}");
    }
}
