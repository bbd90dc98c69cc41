//! Functions that make lists, and those of optional values that take lists. Many lines are from `cel-go`'s
//! `ext/lists_test.go`.

use super::super::*;
use super::libraries::{all_said, all_true};
use super::{assert_costs, env, read, told};
use crate::schema::{self, Work};
use serde_json::json;

#[test]
fn lists_are_cut_turned_round_and_flattened() {
    all_true(
        r"
lists.range(4) == [0, 1, 2, 3] && lists.range(0) == [] && lists.range(number).size() == 7 && lists.range(dyn(2)) == [0, 1]
[5, 1, 2, 3].reverse() == [3, 2, 1, 5] && [].reverse() == [] && [1].reverse() == [1] && dyn([1, 2]).reverse() == [2, 1]
[1, 2, 3, 4].slice(0, 4) == [1, 2, 3, 4] && [1, 2, 3, 4].slice(0, 0) == [] && [1, 2, 3, 4].slice(4, 4) == [] && [1, 2, 3, 4].slice(1, 3) == [2, 3]
object.spec.items.slice(1, 2)[0].name == 'two' && object.spec.items.reverse()[0].name == 'two'
dyn([]).flatten() == [] && dyn([1, 2, 3, 4]).flatten() == [1, 2, 3, 4] && [dyn(1), [dyn(2), [3, 4]]].flatten() == [dyn(1), 2, [3, 4]]
[[1, 2], [], [], [3, 4]].flatten() == [1, 2, 3, 4] && [[1], [2]].flatten().sum() == 3 && [[[1]], [[2]]].flatten() == [[1], [2]]
[dyn(1), [dyn(2), [dyn(3), [4]]]].flatten(2) == [dyn(1), 2, 3, [4]] && [[1], [2]].flatten(0) == [[1], [2]] && [dyn(1), [dyn(2), [dyn(3), [4]]]].flatten(9223372036854775807) == [1, 2, 3, 4]
[[{'a': [1]}], [{'b': [2]}]].flatten(9) == [{'a': [1]}, {'b': [2]}] && [object.spec.items, object.spec.items].flatten().size() == 4
[['a'], ['b']].flatten().map(lists, lists + '!') == ['a!', 'b!'] && [lists.range(2), lists.range(1)].flatten() == [0, 1, 0]
        ",
    );
}

#[test]
fn lists_are_sorted_and_their_distinct_items_found() {
    all_true(
        r"
[4, 3, 2, 1].sort() == [1, 2, 3, 4] && [].sort() == [] && [1].sort() == [1] && ['d', 'a', 'b', 'c'].sort() == ['a', 'b', 'c', 'd']
[2u, 1u].sort() == [1u, 2u] && [1.5, -0.5].sort() == [-0.5, 1.5] && [true, false].sort() == [false, true] && [b'b', b'a'].sort() == [b'a', b'b']
[duration('2s'), duration('1s')].sort()[0] == duration('1s') && [timestamp(2), timestamp(1)].sort()[0] == timestamp(1)
lists.range(100).map(i, i * 37 % 101).sort() == lists.range(100).map(i, i * 37 % 101).sortBy(i, i) && lists.range(100).map(i, i * 37 % 101).sort().isSorted()
lists.range(1000).reverse().sort() == lists.range(1000) && object.spec.items.map(i, i.name).sort() == ['one', 'two']
[1.0, double('NaN'), 0.5].sort().size() == 3 && lists.range(50).map(i, i % 3 == 0 ? double('NaN') : double(-i)).sort().size() == 50
['a'].sortBy(e, e) == ['a'] && [].sortBy(e, e) == [] && [-3, 1, -5, -2, 4].sortBy(e, -(e * e)) == [-5, 4, -3, -2, 1]
[-3, 1, -5, -2, 4].map(e, e * 2).sortBy(e, -(e * e)) == [-10, 8, -6, -4, 2] && lists.range(3).sortBy(e, -e) == [2, 1, 0]
['a', 'c', 'b', 'first'].sortBy(e, e == 'first' ? '' : e) == ['first', 'a', 'b', 'c'] && [[2, 1], [1]].sortBy(e, e.size()) == [[1], [2, 1]]
[{'x': 4}, {'x': 3}].sortBy(m, m['x']) == [{'x': 3}, {'x': 4}] && object.spec.items.sortBy(i, i.name).map(i, i.name) == ['one', 'two']
lists.range(40).sortBy(i, i % 2) == lists.range(20).map(i, i * 2) + lists.range(20).map(i, i * 2 + 1)
[1, 2].sortBy(x, [3, 4].sortBy(y, -y * x)[0] - 2 * x) == [2, 1] && dyn([2, 1]).sortBy(e, e) == [1, 2]
[-2, 5, -2, 1, 1, 5, -2, 1].distinct() == [-2, 5, 1] && ['c', 'a', 'a', 'b', 'a', 'b', 'c', 'c'].distinct() == ['c', 'a', 'b']
[].distinct() == [] && [dyn(1), 1.0, 1u, 2].distinct() == [1, 2] && [dyn(1), 2.0, 'c', 3, 'c', 1].distinct() == [dyn(1), 2.0, 'c', 3]
[[1], [1], [2]].distinct() == [[1], [2]] && [{'a': 1}, {'a': 1}].distinct().size() == 1 && (object.spec.items + object.spec.items).distinct().size() == 2
[null, null].distinct() == [null] && [double('NaN'), double('NaN')].distinct().size() == 2
[0.0, -0.0].distinct().size() == 1 && [dyn(0), -0.0, 0u, false].distinct().size() == 2 && [dyn('1'), b'1', 1].distinct().size() == 3
[dyn({dyn('a'): dyn(1), 2: 'b'}), {dyn(2u): dyn('b'), 'a': 1.0}, {dyn('a'): dyn(2), 2: 'b'}, {'a': 1}].distinct().size() == 3
[dyn(object.spec.items[0]), {'name': 'one'}, object.spec.items[1]].distinct() == object.spec.items
[timestamp('2023-01-01T00:00:00Z'), timestamp('2023-01-01T01:00:00+01:00')].distinct().size() == 1 && [duration('60s'), duration('1m')].distinct().size() == 1
        ",
    );
}

#[test]
fn lists_have_a_first_and_a_last_item_and_those_of_optional_values_are_unwrapped() {
    all_true(
        r"
[1, 2, 3].first().value() == 1 && [1, 2, 3].last().value() == 3 && [1].first() == [1].last() && dyn([1, 2]).last().value() == 2
![].first().hasValue() && ![].last().hasValue() && [1].filter(x, x > 1).first().orValue(7) == 7 && [null].first().hasValue()
object.spec.items.last().name.value() == 'two' && object.spec.items.first().optMap(i, i.name).value() == 'one'
optional.unwrap([optional.of(42), optional.none()]) == [42] && [optional.of(42), optional.none()].unwrapOpt() == [42]
optional.unwrap([]) == [] && [].unwrapOpt() == [] && [optional.none()].unwrapOpt() == [] && [optional.of([1])].unwrapOpt().flatten() == [1]
object.spec.items.map(i, i.?missing).unwrapOpt() == [] && object.spec.items.map(i, i.?name).unwrapOpt() == ['one', 'two']
        ",
    );
}

/// Expressions that fail when they are evaluated, and what is said of them.
const FAILING: &[(&str, &str)] = &[
    (
        "[1, 2, 3, 4].slice(3, 0)",
        "cannot slice(3, 0), start index must be less than or equal to end index",
    ),
    (
        "[1, 2, 3, 4].slice(0, 10)",
        "cannot slice(0, 10), list is length 4",
    ),
    (
        "[1, 2, 3, 4].slice(-5, 10)",
        "cannot slice(-5, 10), negative indexes not supported",
    ),
    (
        "[1, 2, 3, 4].slice(5, -3)",
        "cannot slice(5, -3), negative indexes not supported",
    ),
    (
        "lists.range(-1)",
        "lists.range: size must be non-negative, got -1",
    ),
    (
        "lists.range(1000000000)",
        "lists.range: size 1000000000 exceeds maximum allowed (1000000)",
    ),
    (
        "lists.range(1000001)",
        "lists.range: size 1000001 exceeds maximum allowed (1000000)",
    ),
    ("[].flatten(-1)", "level must be non-negative"),
    ("[].flatten(dyn('1'))", "no such overload"),
    ("dyn({}).flatten()", "no such overload"),
    ("dyn({'a': 1}).flatten(0)", "no such overload"),
    (
        "[dyn('d'), 3, 2, 'c'].sort()",
        "list elements must have the same type",
    ),
    (
        "[dyn(1), 2u].sort()",
        "list elements must have the same type",
    ),
    ("dyn([[1]]).sort()", "list elements must be comparable"),
    ("[null].sort()", "list elements must be comparable"),
    (
        "[1, 2].sortBy(e, e == 1 ? dyn('a') : dyn(1))",
        "list elements must have the same type",
    ),
    (
        "[1].sortBy(e, dyn([e]))",
        "list elements must be comparable",
    ),
    ("[0].sortBy(e, 1 / e)", "division by zero"),
    ("dyn({'a': 1}).sort()", "no such overload"),
    ("dyn({'a': 1}).sortBy(e, e)", "no such overload"),
    ("dyn({'a': 1}).distinct()", "no such overload"),
    ("dyn({'a': 1}).reverse()", "no such overload"),
    ("dyn({'a': 1}).slice(0, 1)", "no such overload"),
    ("[1].slice(dyn('a'), 1)", "no such overload"),
    ("dyn({'a': 1}).first()", "no such overload"),
    ("dyn('a').last()", "no such overload"),
    ("optional.unwrap([dyn(1)])", "value 1 is not optional"),
    (
        "[optional.of(dyn('a')), dyn('b')].unwrapOpt()",
        "value b is not optional",
    ),
    ("dyn({}).unwrapOpt()", "no such overload"),
];

#[test]
fn what_makes_no_list_is_said_as_upstream_says_it() {
    all_said(FAILING);
}

/// Expressions that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "[[1]].sort()",
        "1:11: found no matching overload for 'sort' applied to 'list(list(int)).()'",
    ),
    (
        "[1].flatten()",
        "1:12: found no matching overload for 'flatten' applied to 'list(int).()'",
    ),
    (
        "[1].slice(1)",
        "1:10: found no matching overload for 'slice' applied to 'list(int).(int)'",
    ),
    (
        "[1].slice(1u, 2)",
        "1:10: found no matching overload for 'slice' applied to 'list(int).(uint, int)'",
    ),
    (
        "'abc'.reverse()",
        "1:14: found no matching overload for 'reverse' applied to 'string.()'",
    ),
    (
        "{'a': 1}.distinct()",
        "1:18: found no matching overload for 'distinct' applied to 'map(string, int).()'",
    ),
    (
        "lists.range('a')",
        "1:12: found no matching overload for 'lists.range' applied to '(string)'",
    ),
    (
        "[1].sortBy(e, [e])",
        "1:11: found no matching overload for '@sortByAssociatedKeys' applied to 'list(int).(list(list(int)))'",
    ),
    (
        "object.a.sortBy(e, {})",
        "1:16: found no matching overload for '@sortByAssociatedKeys' applied to 'dyn.(list(map(dyn, dyn)))'",
    ),
    (
        "{'a': 1}.transformMap(k, v, v).sortBy(e, e)",
        "1:38: found no matching overload for '@sortByAssociatedKeys' applied to 'map(string, int).(list(string))'",
    ),
    (
        "{'a': 1}.sortBy(e, e)",
        "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    ),
    (
        "'a'.sortBy(e, e)",
        "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    ),
    ("[1].sortBy(1, 2)", "1:11: argument must be a simple name"),
    (
        "[1].sortBy(__result__, 2)",
        "1:11: iteration variable overwrites accumulator variable",
    ),
    (
        "[1].sortBy(e)",
        "1:12: undeclared reference to 'e' (in container '')",
    ),
    (
        "{'a': 1}.first()",
        "1:15: found no matching overload for 'first' applied to 'map(string, int).()'",
    ),
    (
        "[1].unwrapOpt()",
        "1:14: found no matching overload for 'unwrapOpt' applied to 'list(int).()'",
    ),
    (
        "optional.unwrap([1])",
        "1:16: found no matching overload for 'optional.unwrap' applied to '(list(int))'",
    ),
];

#[test]
fn what_is_no_list_is_refused_before_it_is_evaluated() {
    all_said(REFUSED);
}

#[test]
fn the_types_of_lists_are_known_before_they_are_made() {
    for (source, type_name) in [
        ("[2, 1].sort()", "list(int)"),
        ("object.sort()", "dyn"),
        ("[[1u]].flatten()", "list(uint)"),
        ("[[1u]].flatten(1)", "list(dyn)"),
        ("object.a.flatten()", "list(dyn)"),
        ("lists.range(2)", "list(int)"),
        ("['a'].distinct().reverse().slice(0, 1)", "list(string)"),
        ("[{'a': 1}].sortBy(e, e.a)", "list(map(string, int))"),
        ("object.a.sortBy(e, e)", "list(dyn)"),
        ("['a'].first()", "optional_type(string)"),
        ("object.a.last()", "optional_type(dyn)"),
        ("optional.unwrap([optional.of('a')])", "list(string)"),
        ("[optional.of('a')].unwrapOpt()", "list(string)"),
    ] {
        let (_, found) = Program::compile(source, &env()).expect(source);
        assert_eq!(found.to_string(), type_name, "{source}");
    }
}

/// Expressions about a thousand numbers, texts of ten bytes, objects with one of each, and lists of ten, and about two
/// hundred texts of ten thousand bytes that differ in the last, with the least and the most that they may cost.
const COSTS: &[(&str, u64, u64)] = &[
    ("lists.range(1000).size() == 1000", 1_000, 1_010),
    ("self.numbers.slice(10, 20).size() == 10", 10, 20),
    ("self.numbers.reverse().size() == 1000", 1_000, 1_010),
    ("self.numbers.first().hasValue()", 1, 10),
    ("self.numbers.last().hasValue()", 1, 10),
    ("self.dates.last().hasValue()", 2, 10),
    ("self.dates.slice(0, 10).size() == 10", 20, 50),
    ("self.lists.flatten(0).size() == 1000", 1_000, 1_010),
    ("self.lists.flatten().size() == 10000", 11_000, 11_010),
    ("self.lists.flatten(100).size() == 10000", 11_000, 11_010),
    (
        "self.numbers.map(n, optional.of(n)).unwrapOpt().size() == 1000",
        4_000,
        4_010,
    ),
    // Each half is compared with the other once for each of ten levels.
    ("self.numbers.sort().size() == 1000", 5_000, 11_000),
    ("self.texts.sort().size() == 1000", 15_000, 31_000),
    ("self.numbers.sortBy(n, -n).size() == 1000", 8_000, 14_000),
    (
        "self.numbers.map(n, 1).distinct().size() == 1",
        4_000,
        5_010,
    ),
    ("self.numbers.distinct().size() == 1000", 2_000, 2_010),
    ("self.texts.distinct().size() == 1000", 4_000, 4_010),
    ("self.objects.distinct().size() == 1000", 6_000, 12_000),
    ("self.long.distinct().size() == 2", 390_000, 410_000),
    // Whether the order of their items matters is not known before they are compared.
    ("self.lists.distinct().size() == 1000", 1_000_000, 1_100_000),
];

#[test]
fn what_lists_are_made_of_is_paid_for() {
    let schema = schema::parse(&json!({"type": "object", "properties": {
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "texts": {"type": "array", "items": {"type": "string"}},
        "long": {"type": "array", "items": {"type": "string"}},
        "objects": {"type": "array", "items": {"type": "object", "properties": {
            "number": {"type": "integer"}, "text": {"type": "string"}}}},
        "dates": {"type": "array", "items": {"type": "string", "format": "date"}},
        "lists": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}}}));
    let numbers: Vec<u64> = (0..1000).map(|one| one * 7_919 % 1_009).collect();
    let texts = numbers.iter().map(|one| format!("{one:010}"));
    let lists: Vec<Vec<u64>> = numbers.iter().map(|one| vec![*one; 10]).collect();
    let objects = numbers
        .iter()
        .map(|one| json!({"number": one % 10, "text": one.to_string()}));
    let long = (0..200).map(|one| format!("{}{}", "x".repeat(9_999), one % 2));
    let document = json!({"numbers": numbers, "texts": texts.collect::<Vec<_>>(), "lists": lists,
        "objects": objects.collect::<Vec<_>>(), "long": long.collect::<Vec<_>>(),
        "dates": vec!["2023-01-01"; 1000]});
    assert_costs(COSTS, &schema, &document);
}

#[test]
fn a_list_that_cannot_be_paid_for_is_not_made() {
    let repeated = |times: usize, inside: &str| vec![inside; times].join(", ");
    for source in [
        "lists.range(1000000)".to_owned(),
        "lists.range(600000).reverse()".to_owned(),
        "lists.range(600000).slice(0, 599999)".to_owned(),
        "lists.range(200000).sort()".to_owned(),
        "lists.range(90000).sortBy(i, -i)".to_owned(),
        "lists.range(2000).map(i, [i]).distinct()".to_owned(),
        "lists.range(1000).map(i, lists.range(1000)).flatten()".to_owned(),
        format!("[{}].flatten(9)", repeated(100, "lists.range(10000)")),
        "lists.range(1000).all(i, lists.range(1000).sort().size() > 0)".to_owned(),
        "lists.range(1000).map(i, 'a').map(a, lists.range(500).map(i, a)).flatten().sort()"
            .to_owned(),
    ] {
        let said = "operation cancelled: actual cost limit exceeded";
        assert!(told(&source) == said, "{source}");
    }
    let (program, _) = Program::compile("lists.range(50).sort() != []", &env()).expect("a sort");
    for (budget, is_enough) in [(200, false), (400, true)] {
        let mut meter = Meter::new(budget, Work::default());
        assert_eq!(
            program.evaluate(&[], &mut meter).is_ok(),
            is_enough,
            "{budget}"
        );
    }
}

/// Upstream makes plain lists, too, and returns an empty one as it is.
#[test]
fn a_list_made_of_a_set_is_none_unless_it_was_empty() {
    let set =
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let properties = json!({"set": set, "empty": set});
    let schema = schema::parse(&json!({"type": "object", "properties": properties}));
    let document = json!({"set": ["b", "a"], "empty": []});
    let env = Env {
        variables: vec![("self", Type::of(&schema, false).expect("an object"))],
        patterns: Allowance::new(0),
    };
    for source in [
        "self.set == ['a', 'b'] && self.set.reverse() == ['a', 'b'] && self.set.reverse() != ['b', 'a']",
        "self.set + ['a'] == ['b', 'a'] && (self.set.sort() + ['a']) == ['a', 'b', 'a']",
        "(self.set.distinct() + ['a']).size() == 3 && (self.set.slice(0, 2) + ['a']).size() == 3",
        "(self.empty.sort() + ['a', 'a']).size() == 1 && (self.empty.distinct() + ['a', 'a']).size() == 1",
        "(self.empty.sortBy(e, e) + ['a', 'a']).size() == 1 && (self.empty.reverse() + ['a', 'a']).size() == 2",
    ] {
        let (program, _) = Program::compile(source, &env).expect(source);
        let mut meter = Meter::new(1_000_000, Work::default());
        let value = program.evaluate(&[("self", read(&document, &schema))], &mut meter);
        assert!(
            matches!(value, Ok(Value::Bool(true))),
            "{source}: {value:?}"
        );
    }
}
