//! Named formats, versions, and strings in quotes.

use super::libraries::{all_said, all_true};
use super::told;

const FORMATS: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

#[test]
fn every_format_has_a_function_and_is_itself() {
    for one in FORMATS {
        assert_eq!(
            told(&format!("format.named('{one}').value() == format.{one}()")),
            "Bool(true)"
        );
        for other in FORMATS.iter().filter(|other| **other != one) {
            let same = told(&format!("format.{one}() == format.{other}()"));
            assert_eq!(same, "Bool(false)", "{one} {other}");
        }
    }
    all_true("!format.named('unknown').hasValue() && type(format.uri()) != string");
}

#[test]
fn texts_may_have_a_format() {
    for (format, good) in [
        ("dns1123Label", "my-label-name"),
        ("dns1123Subdomain", "apiextensions.k8s.io"),
        ("dns1035Label", "my-label-name"),
        ("qualifiedName", "apiextensions.k8s.io/v1beta1"),
        ("qualifiedName", "my.name"),
        ("dns1123LabelPrefix", "my-label-prefix-"),
        ("dns1123SubdomainPrefix", "mysubdomain.prefix.-"),
        ("dns1035LabelPrefix", "my-label-prefix-"),
        ("labelValue", "my-cool-label-Value"),
        ("labelValue", ""),
        ("uri", "http://example.com"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("byte", "aGVsbG8="),
        ("date", "2021-01-01"),
        ("datetime", "2021-01-01T00:00:00Z"),
    ] {
        let source = format!("!format.{format}().validate('{good}').hasValue()");
        assert_eq!(told(&source), "Bool(true)", "{source}");
    }
}

#[test]
fn what_is_wrong_with_a_text_is_said_in_full() {
    let label = "a lowercase RFC 1123 label must consist of lower case";
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case";
    let label_1035 = "a DNS-1035 label must consist of lower case";
    for (format, bad, starts) in [
        ("dns1123Label", "contains a space", label),
        ("dns1123Label", "a.b", "must not contain dots"),
        ("dns1123Subdomain", "contains a space", subdomain),
        ("dns1035Label", "0a", label_1035),
        (
            "qualifiedName",
            "contains a space",
            "name part must consist of alphanumeric",
        ),
        ("dns1123LabelPrefix", "contains a space-", label),
        ("dns1123LabelPrefix", "-", label),
        ("dns1123SubdomainPrefix", "contains a space-", subdomain),
        ("dns1035LabelPrefix", "contains a space-", label_1035),
        (
            "labelValue",
            "my-cool-label-Value!!",
            "a valid label must be an empty string or",
        ),
        ("uri", "x", "parse \"x\": invalid URI for request"),
        ("uuid", "x", "does not match the UUID format"),
        ("byte", "aGVsbG8", "invalid base64"),
        ("date", "2020-01-32", "invalid date"),
        ("datetime", "2020-01-32T00:00:00Z", "invalid datetime"),
    ] {
        let source = format!(
            "format.named('{format}').value().validate('{bad}').value().all(why, why.startsWith('{starts}'))"
        );
        assert_eq!(told(&source), "Bool(true)", "{source}");
    }
    all_true(
        r#"
[string('a').replace('a', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')].all(t, format.dns1123Label().validate(t).value().size() == 2)
format.uri().validate('../a').value() == ['parse "../a": invalid URI for request'] && format.uri().validate('/a') == optional.none()
        "#,
    );
    all_said(&[
        (
            "format.unknown() == format.uri()",
            "1:1: undeclared reference to 'format' (in container '')",
        ),
        (
            "format.uri == 1",
            "1:1: undeclared reference to 'format' (in container '')",
        ),
        (
            "format.uri().validate(1).hasValue()",
            "1:22: found no matching overload for 'validate' applied to 'kubernetes.NamedFormat.(int)'",
        ),
        (
            "format.named('x').value() == format.uri()",
            "optional.none() dereference",
        ),
    ]);
}

#[test]
fn versions_have_the_order_of_semantic_versions() {
    all_true(
        r"
isSemver('1.2.3-beta.1+build.1') && isSemver('0.0.0') && isSemver('1.0.0-a-b.c+d-e.01')
!isSemver('') && !isSemver('v1.0.0') && !isSemver(' 1.0.0') && !isSemver('1. 0.0') && !isSemver('1.0.0 ') && !isSemver('01.01.01') && !isSemver('1') && !isSemver('1.1')
!isSemver('', true) && !isSemver(' 1.0.0', true) && !isSemver('1. 0.0', true) && !isSemver('1.0.0 ', true) && !isSemver('1.1-a', true) && !isSemver('v1.0.0', false)
isSemver('v1.0.0', true) && isSemver('01.01.01', true) && isSemver('1', true) && isSemver('1.1', true) && isSemver('00.000.0', true) && !isSemver('vv1', true) && !isSemver('1.a', true)
semver('v01.01', true) == semver('1.1.0') && semver('1.2.3') == semver('1.2.3+build') && semver('1.2.3') != semver('1.0.0') && semver('1.0.00-1', true) == semver('1.0.0-1')
semver('1.0.0').isLessThan(semver('1.2.3')) && !semver('1.0.0').isLessThan(semver('1.0.0')) && semver('1.2.3').isGreaterThan(semver('1.0.0')) && !semver('1.0.0').isGreaterThan(semver('1.0.0'))
semver('1.2.3').compareTo(semver('1.2.3')) == 0 && semver('1.0.0').compareTo(semver('1.2.3')) == -1 && semver('10.0.0').compareTo(semver('9.9.9')) == 1
semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3 && semver('18446744073709551615.0.0').major() == -1
['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0'].map(v, semver(v)).all(a, a.compareTo(semver('1.0.0-alpha')) >= 0)
['1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-a', '1.0.0-a.1', '1.0.0-a.b', '1.0.0-b', '1.0.0', '1.0.1'].all(i, a, ['1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-a', '1.0.0-a.1', '1.0.0-a.b', '1.0.0-b', '1.0.0', '1.0.1'].all(j, b, semver(a).compareTo(semver(b)) == (i < j ? -1 : i > j ? 1 : 0)))
dyn(semver('1.0.0')).isLessThan(semver('2.0.0')) && dyn(quantity('1')).isLessThan(quantity('2')) && dyn(semver('1.0.0')) != dyn('1.0.0')
        ",
    );
}

#[test]
fn a_text_that_is_no_version_is_refused_as_upstream_refuses_it() {
    all_said(&[
        (
            "semver('v1.0').major() == 1",
            "No Major.Minor.Patch elements found",
        ),
        ("semver('').major() == 1", "Version string empty"),
        (
            "semver('a.1.1').major() == 1",
            "Invalid character(s) found in major number \"a\"",
        ),
        (
            "semver('1.01.1').major() == 1",
            "Minor number must not contain leading zeroes \"01\"",
        ),
        (
            "semver('1.1.x').major() == 1",
            "Invalid character(s) found in patch number \"x\"",
        ),
        (
            "semver('1..1').major() == 1",
            "strconv.ParseUint: parsing \"\": invalid syntax",
        ),
        (
            "semver('18446744073709551616.0.0').major() == 1",
            "strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
        ),
        ("semver('1.0.0-').major() == 1", "Prerelease is empty"),
        (
            "semver('1.0.0-a_').major() == 1",
            "Invalid character(s) found in prerelease \"a_\"",
        ),
        (
            "semver('1.0.0-01').major() == 1",
            "Numeric PreRelease version must not contain leading zeroes \"01\"",
        ),
        ("semver('1.0.0+').major() == 1", "Build meta data is empty"),
        (
            "semver('1.0.0+a_').major() == 1",
            "Invalid character(s) found in build meta data \"a_\"",
        ),
        (
            "semver('1.0-a', true).major() == 1",
            "short version cannot contain PreRelease/Build meta data",
        ),
        (
            "isSemver([1, 2, 3])",
            "1:9: found no matching overload for 'isSemver' applied to '(list(int))'",
        ),
        (
            "semver('1.0.0').isLessThan(quantity('1'))",
            "1:27: found no matching overload for 'isLessThan' applied to 'kubernetes.Semver.(kubernetes.Quantity)'",
        ),
        (
            "dyn(semver('1.0.0')).isLessThan(dyn(quantity('1')))",
            "no such overload",
        ),
    ]);
}

#[test]
fn a_text_is_quoted_for_an_expression() {
    all_true(
        r#"
strings.quote('first\nsecond') == '"first\\nsecond"' && strings.quote('') == '""' && strings.quote('a"b\\c') == '"a\\"b\\\\c"'
strings.quote('\a\b\f\r\t\v\x00\u00e9') == '"\\a\\b\\f\\r\\t\\v\x00\u00e9"'
        "#,
    );
}
