//! What patterns mean, which are refused, and as how much they count.

use super::*;

#[test]
fn patterns_mean_what_they_mean_in_go() {
    for (pattern, text, matches) in [
        (r"^\d+$", "12", true),
        (r"^\d+$", "\u{661}", false),
        (r"^[\w.]+$", "a_1.b", true),
        (r"^[\w.]+$", "\u{e9}", false),
        (r"^[^\s]+$", "a b", false),
        (r"\bab\b", "x ab y", true),
        (r"^[[a]+$", "[a", true),
        (r"^[]a]+$", "]a", true),
        (r"^[^]a]+$", "b", true),
        (r"^[a&&b]+$", "a&b", true),
        (r"^[[:alpha:]-]+$", "a-B", true),
        (r"^[\]]$", "]", true),
        (r"^a\.b$", "a.b", true),
        (r"(?i)^\p{Greek}$", "\u{3b1}", true),
        (r"^\Qa.b\E+$", "a.bb", true),
        (r"^\p{^L}\P{^L}[\p{^L}]$", "1a1", true),
        (r"^\p{^L}$", "a", false),
        (r"^[\P{^Lu}-]+$", "A-", true),
        (r"^[\P{^Lu}-]+$", "a", false),
        ("^(?:a{10}|b{100}){10}$", &"b".repeat(1000), true),
        ("^((?:a{1000}){0}(b{1000}){1}c{0,}d{1000})?$", "", true),
        ("^(a+)*(b??)?(?:c{2}){3}d{2}e*$", "abccccccdd", true),
        (r"^\Qa.b\E+$", "acb", false),
        (r"^\Q[", "[", true),
        (r"^\<a\>$", "<a>", true),
        (r"^[\-\<\&]+$", "<&-", true),
        (r"^(?i:A)(?P<b>b)(?<c>c)$", "abc", true),
        ("^[a-z]([-a-z0-9]*[a-z0-9])?$", "a-1", true),
        (r"^\${[A-Z]+}$", "${A}", true),
        ("^{{.*}}$", "{{a}}", true),
        ("^a{2}b{1,}c{0,2}$", "aabbc", true),
        ("^a{,2}{a,2}{01}{1,2,3}{1$", "a{,2}{a,2}{01}{1,2,3}{1", true),
        ("^[{]{2}$", "{{", true),
        (r"^\Qa\Eb\Q\E\Q.\E$", "ab.", true),
        (r"^\Q\u{e9}\Q\Ea$", "\\u{e9}\\Qa", true),
        ("^[a-z--9]+$", "b-.5", true),
        ("^[a-z--9]+$", "a:", false),
        ("^[--9]+$", "-.5", true),
        ("^[^--9]+$", ".", false),
        ("^[+--]+$", "+,-", true),
        ("^[+--]+$", ".", false),
        ("^[---]$", "-", true),
        ("^[a-]+$", "a-", true),
        (r"^[\d--9]+$", "7./", true),
        (r"^[\w-.]+$", "a-.", true),
        (r"^[\x41-\x43--9]+$", "B-.", true),
        (r"^[\x{41}-\x{43}-9]+$", "B-9", true),
        (r"^[\x{41}-\x{43}-9]+$", "5", false),
        (r"^[\p{Greek}-\pN-9]+$", "\u{3b1}-9", true),
        ("^[a-c-e]+$", "b-e", true),
        ("^[a-c-e]+$", "d", false),
        ("^[*-[:]+$", "A:[", true),
        (r"^\101\60\0$", "A0\0", true),
        (r"^\1018\08$", "A8\u{0}8", true),
        (r"^\777$", "\u{1ff}", true),
        (r"^\0123$", "\n3", true),
        (r"^[\101-\103\55]+$", "B-", true),
        (r"^[\101-\103\55]+$", "D", false),
    ] {
        let compiled = compile(pattern).expect(pattern);
        assert_eq!(compiled.is_match(text), matches, "{pattern} {text:?}");
    }
}

#[test]
fn what_cannot_be_compiled_or_is_too_large_is_refused() {
    for (pattern, why) in [
        ("(", "unclosed group"),
        ("[b-a]", "invalid character class range"),
        ("[a--]", "invalid character class range"),
        (r"[A-\d]", r"invalid escape sequence: `\d`"),
        (r"\pL{1000}", "size limit"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{1001,}?", "invalid repeat count: `{1001,}?`"),
        ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("((a{100}){100})", "invalid repeat count: `{100}`"),
        ("(b|(?:a{0,100})*c){11}d", "invalid repeat count: `{11}`"),
        (
            "(?i)(?P<n>a{34,})+(a{30}){34}",
            "invalid repeat count: `{34}`",
        ),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+?+?b", "invalid nested repetition operator: `+?+?`"),
        ("a???", "invalid nested repetition operator: `???`"),
        ("x{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        (r"\p{^L", "incomplete escape sequence"),
        ("\\", "incomplete escape sequence"),
        ("(?x)a b", "unsupported Perl syntax: `(?x`"),
        ("(?u:a)", "unsupported Perl syntax: `(?u`"),
        ("a(?=b)", "unsupported Perl syntax: `(?=`"),
        ("(?!abc)", "unsupported Perl syntax: `(?!`"),
        ("(?ixm)a", "unsupported Perl syntax: `(?ix`"),
        (r"\u0041", r"invalid escape sequence: `\u`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\18", r"invalid escape sequence: `\1`"),
        (r"\81", r"invalid escape sequence: `\8`"),
        (&r"\pL".repeat(10_000), "longer than 16384 bytes"),
        (
            &format!("a(?i:{})", "[a-\u{10ffff}]".repeat(100)),
            "too many classes",
        ),
        (&format!("(?i){}", r"\pL".repeat(1000)), "too many classes"),
    ] {
        let error = compile(pattern).expect_err(pattern).why;
        assert!(error.contains(why), "{pattern}: {error}");
    }
}

#[test]
fn classes_have_the_names_that_go_knows() {
    for (pattern, text) in [
        (
            r"^\p{Greek}\p{Lu}\p{letter}\p{Yi}\p{Thai}$",
            "\u{3b1}Aa\u{a000}\u{e01}",
        ),
        (r"^\pL\P{^N}\p{old italic}$", "a1\u{10300}"),
        ("^[[:alpha:][:^word:]_]+$", "a-_"),
        ("^[[:a]+$", "[:a"),
    ] {
        let compiled = compile(pattern).expect(pattern);
        assert!(compiled.is_match(text), "{pattern} {text:?}");
    }
    for (pattern, quoted) in [
        (r"\p{sc=Greek}", r"\p{sc=Greek}"),
        (r"\P{Alphabetic}", r"\P{Alphabetic}"),
        (r"\p{IsGreek}", r"\p{IsGreek}"),
        (r"\p{Grek}", r"\p{Grek}"),
        (r"\p{^Nobody}", r"\p{^Nobody}"),
        (r"\pX", r"\pX"),
        ("[[:foo:]]", "[:foo:]"),
        ("[a[:^:]]", "[:^:]"),
    ] {
        let error = compile(pattern).expect_err(pattern).why;
        let why = format!("invalid character class range: `{quoted}`");
        assert!(error.contains(&why), "{pattern}: {error}");
    }
}

/// Reading all that follows for each of them would take minutes.
#[test]
fn many_quoted_parts_are_read_in_one_go() {
    let pattern = format!("^{}a$", r"\Q\E".repeat(PATTERN_LENGTH_MAX / 4 - 1));
    for _ in 0..500 {
        assert_eq!(go::translated(&pattern).as_deref(), Ok("^a$"));
    }
}

/// Otherwise a definition of some kilobytes would be compiled to hundreds of megabytes, which takes seconds.
#[test]
fn patterns_count_by_what_they_are_compiled_to_and_equal_ones_once() {
    let label = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
    let mut patterns = Patterns::default();
    for text in [label, label, "(", "^(?:a|b)*$"] {
        drop(patterns.get(text));
    }
    assert_eq!(patterns.weight, 2);
    drop(patterns.get(r"^\pL{40}$"));
    let large = patterns.weight - 2;
    assert!((WEIGHT_MAX / 2..=WEIGHT_MAX).contains(&large), "{large}");
    assert_eq!(patterns.bytes_max(), patterns.weight * USUAL_BYTES);
    let room = (PATTERNS_MAX - patterns.weight) / large;
    for number in 0..PATTERNS_MAX - 4 {
        let text = format!(r"^\pL{{40}}{number}$");
        let why = patterns.wrong(&text).map(str::to_owned);
        assert_eq!(why.is_none(), number < room, "{text}: {why:?}");
        let is_told = why.is_none_or(|why| why.contains("counts as more than 256"));
        assert!(is_told, "{text}");
    }
    assert_eq!(patterns.bytes_max(), PATTERNS_MAX * USUAL_BYTES);
}

/// To find that a pattern is too large takes as long as to compile a large one.
#[test]
fn what_is_too_large_counts_and_what_is_not_understood_does_not() {
    let told = |pattern: &dyn Fn(usize) -> String| {
        let mut patterns = Patterns::default();
        let one = |number| patterns.wrong(&pattern(number)).map(str::to_owned);
        let mut all = (0..PATTERNS_MAX).map(one);
        all.position(|why| why.is_some_and(|why| why.contains("more than 256")))
    };
    let too_large = |number: usize| format!(r"^\pL{{1000}}{number}$");
    assert_eq!(told(&too_large), Some(PATTERNS_MAX / WEIGHT_MAX));
    assert_eq!(told(&|number: usize| format!("({number}")), None);
}

/// It takes ten milliseconds for each such class, however short it is.
#[test]
fn what_is_looked_up_without_regard_to_case_counts() {
    let all = WEIGHT_MAX as u64;
    for (text, least, most) in [
        (r"(?i)^[a-z0-9]([-a-z0-9]{0,61}[\w.])*\s\d[^\d]$", 0, 0),
        (r"^\pL\PL[^a][\W]$", 0, 0),
        ("(?i)[a-\u{10ffff}]", 1, 2),
        ("(?i:[^b-\u{10ffff}])", 1, 2),
        (r"(?i)[\W]", 1, 2),
        (r"(?i)[\pL]\PL", 3, 4),
        (r"(?i)[\pL]{2}\pL\pL{1000}", 4, 5),
    ] {
        let compiled = compile(text);
        let work = work_to_compile(text, &compiled) - READ_STEPS * text.len() as u64;
        let found = work / folding::ALL;
        assert!(
            found <= all && (least..=most).contains(&found),
            "{text}: {work}"
        );
        let weight = weight_of(&compiled) as u64;
        assert!(weight >= found, "{text}: {weight}");
    }
}

/// Another engine would compile more than one automaton, of which the limit of the size bounds each or none.
#[test]
fn a_pattern_is_compiled_to_no_more_than_its_limit() {
    for text in [
        r"^\pL{40}$",
        &format!("^([a-z{}])x{{850}}$", ('0'..='Z').collect::<String>()),
    ] {
        let pattern = compile(text).expect(text);
        let bytes = pattern.bytes();
        assert!(bytes <= PATTERN_BYTES_MAX, "{text}: {bytes}");
    }
}

/// At each place of a text, and there is one in an empty text.
#[test]
fn matching_is_as_much_work_as_there_are_states_to_look_at() {
    let alternatives = format!("^(?:{}a)$", "|".repeat(8000));
    let class = "[acegikmoqsuwyACEGIKMOQSUWY02468]".repeat(100);
    for (text, least, most) in [
        ("[a-z]{1000}b", 1000, 1100),
        ("^(?:a?){1000}(?:b?){1000}$", 4000, 4100),
        (&alternatives, 2000, 2100),
        (&class, 400, 600),
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 5, 20),
    ] {
        let pattern = compile(text).expect(text);
        let work = pattern.work(0);
        assert!((least..=most).contains(&work), "{text}: {work}");
        assert_eq!(pattern.work(99), 100 * work);
    }
}

/// To look for the next place again from all that follow the first would take minutes.
#[test]
fn a_search_goes_once_through_a_text() {
    let pattern = compile(r"(?:\B)").expect("a pattern");
    let text = format!("{}a\u{e9}", "a ".repeat(50_000));
    assert!(pattern.is_match(&text));
    let end = text.len();
    let found = pattern.find(&text, 0).map(|found| found.range());
    assert_eq!(found, Some(end..end));
}

/// What a regular expression notes while it matches would otherwise be there for each field that has it.
#[test]
fn fields_of_the_same_pattern_share_what_it_is_compiled_to() {
    let mut patterns = Patterns::default();
    let [one, other] = ["^a+$"; 2].map(|text| patterns.get(text).expect("compiled"));
    assert!(Arc::ptr_eq(&one, &other));
}

#[test]
fn patterns_are_compiled_once_and_counted() {
    let mut patterns = Patterns::default();
    for number in 0..PATTERNS_MAX {
        assert!(patterns.get(&format!("a{number}")).is_some());
    }
    assert!(patterns.get("one-more").is_none());
    assert!(patterns.get("a0").is_some());
}
