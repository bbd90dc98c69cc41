//! Loops with two variables.

use super::libraries::{all_said, all_true};

#[test]
fn a_loop_may_have_a_variable_for_the_index_or_key_and_one_for_the_value() {
    all_true(
        r"
[1, 2, 3, 4].all(i, v, i < 5 && v > 0) && [1, 2, 3, 4].all(i, v, i < v) && ![1, 2, 3, 4].all(i, v, i > v)
{'hello': 'world', 'hello!': 'world'}.all(k, v, k.startsWith('hello') && v == 'world')
!{'hello': 'world', 'taco': 'taco'}.all(k, v, k != v) && [].all(i, v, i == v) && {}.all(k, v, k == v)
{'h': ['hello', 'hi'], 'j': ['joke', 'jog']}.all(k, vals, vals.all(v, v.startsWith(k)))
['hello', 'world'].exists(i, v, v == 'world' && i == 1) && ![1, 2, 4].exists(i, v, v == 1024 && i == 10)
{'greeting': 'hello', 'farewell': 'goodbye'}.exists(k, v, k.startsWith('good') || v.endsWith('bye'))
[1, 1, 2, 2, 3, 3].existsOne(i, v, i == 2 && v == 2) && ![1, 2, 1].exists_one(i, v, i == 1 || v == 1)
{'i': 0, 'j': 1, 'k': 2}.existsOne(i, v, i == 'l' || v == 1) && {'a': 1}.exists_one(k, v, v == 1)
[1, 0].exists(i, v, 1 / v == 1) && ![1, 0].all(i, v, 1 / v == 2)
['Hello', 'world'].transformList(i, v, '[%d]%s'.format([i, v.lowerAscii()])) == ['[0]hello', '[1]world']
[1, 2, 3].transformList(i, v, (i * v) + v) == [1, 4, 9] && [1, 2, 3].transformList(i, v, i % 2 == 0, (i * v) + v) == [1, 9]
['hello'].transformList(i, v, v.startsWith('greeting'), v) == [] && {'Hello': 'world'}.transformList(k, v, k + v) == ['Helloworld']
dyn({'Hello': 'world'}).transformList(k, v, k + v) == ['Helloworld'] && {'a': 'b'}.transformList(k, _, k) == ['a'] && {'a': 'b'}.transformList(_, v, v) == ['b']
['Hello', 'world'].transformMap(i, v, [v.lowerAscii()]) == {0: ['hello'], 1: ['world']} && [1, 2, 3].transformMap(i, v, i % 2 == 0, (i * v) + v) == {0: 1, 2: 9}
{'hello': 'world', 'goodbye': 'cruel world'}.transformMap(k, v, '%s, %s!'.format([k, v])) == {'hello': 'hello, world!', 'goodbye': 'goodbye, cruel world!'}
{'hello': 'world', 'goodbye': 'cruel'}.transformMap(k, v, v.startsWith('w'), k) == {'hello': 'hello'} && dyn([5]).transformMap(i, v, i + v) == {0: 5}
{'greeting': 'hello'}.transformMapEntry(k, v, {v: k}) == {'hello': 'greeting'} && [3, 4].transformMapEntry(i, v, {v: i}) == {3: 0, 4: 1}
'key1:value1:extra key2:value2 key3'.split(' ').transformMapEntry(i, v, {?v.split(':')[0]: v.split(':')[?1]}) == {'key1': 'value1', 'key2': 'value2'}
{'a': 'x', 'b': 'yy'}.transformMapEntry(k, v, v.size() == 2, {k: v.size()}) == {'b': 2} && {'a': 'b'}.transformMapEntry(k, v, {}) == {}
object.spec.items.all(i, item, item.name == ['one', 'two'][i]) && object.metadata.labels.all(k, v, k == 'a.b/c' && v == 'x')
object.metadata.labels.transformMapEntry(k, v, {v: k}) == {'x': 'a.b/c'} && object.spec.items.transformMapEntry(i, item, item).name == 'one' || true
[[1, 2], [3]].transformMap(i, v, v.transformMap(j, w, i + w)) == {0: {0: 1, 1: 2}, 1: {0: 4}} && [1].all(x, [2].all(i, x, x == 2) && x == 1)
        ",
    );
}

#[test]
fn a_loop_with_two_variables_is_checked_first() {
    all_said(&[
        ("[].all(i, i, i < i)", "1:7: duplicate variable name: i"),
        (
            "[].all(__result__, i, __result__ < i)",
            "1:7: iteration variable overwrites accumulator variable",
        ),
        (
            "[].all(j, __result__, __result__ < j)",
            "1:7: iteration variable overwrites accumulator variable",
        ),
        (
            "[].all(__result__, true)",
            "1:7: iteration variable overwrites accumulator variable",
        ),
        (
            "[].all(i.j, k, i.j < k)",
            "1:7: argument must be a simple name",
        ),
        (
            "[].exists(j, i.k, j < i.k)",
            "1:10: argument must be a simple name",
        ),
        (
            "{}.transformMap(j, i.k, j)",
            "1:16: argument must be a simple name",
        ),
        (
            "''.existsOne(j, k, j < k)",
            "1:1: expression of type 'string' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        (
            "{}.transformMapEntry(j, k, 'bad filter', {k: j})",
            "1:21: expected type 'bool' but found 'string'",
        ),
        (
            "{'hello': 'world'}.transformMapEntry(k, v, []) == {}",
            "1:44: found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), list(dyn))'",
        ),
        (
            "[1, 2].transformList(i, v, v % 2 == 0 ? [v] : v) == []",
            "1:39: found no matching overload for '_?_:_' applied to '(bool, list(int), int)'",
        ),
        (
            "['a'].all(i, v, i == v)",
            "1:19: found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "{'a': 1}.transformMap(k, v, v)[1] == 1",
            "1:31: found no matching overload for '_[_]' applied to '(map(string, int), int)'",
        ),
        (
            "[1].map(i, v, 2, i)",
            "1:9: undeclared reference to 'i' (in container '')",
        ),
        (
            "[1].filter(i, v, true)",
            "1:12: undeclared reference to 'i' (in container '')",
        ),
    ]);
}

#[test]
fn keys_of_entries_differ_and_entries_are_maps() {
    all_said(&[
        (
            "[1, 1].transformMapEntry(i, v, {v: i}) == {}",
            "insert failed: key 1 already exists",
        ),
        (
            "[dyn(0), dyn(0u)].transformMapEntry(i, v, {v: i}) == {}",
            "insert failed: key 0 already exists",
        ),
        (
            "['a', 'a'].transformMapEntry(i, v, {v: i}) == {}",
            "insert failed: key a already exists",
        ),
        (
            "[1].transformMapEntry(i, v, dyn(v)) == {}",
            "no such overload",
        ),
        (
            "[1].transformList(i, v, dyn(1), v) == []",
            "no such overload",
        ),
    ]);
}
