//! What the functions of Kubernetes' libraries come to.

use super::*;

/// Every line is true.
pub(super) fn all_true(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(told(line), "Bool(true)", "{line}");
    }
}

/// Expressions, and the first line of what is said of them.
pub(super) fn all_said(table: &[(&str, &str)]) {
    for (source, said) in table {
        let told = told(source);
        let first = told.lines().next().unwrap_or_default();
        assert_eq!(
            first.trim_start_matches("ERROR: <input>:"),
            *said,
            "{source}"
        );
    }
}

#[test]
fn urls_are_read_as_go_reads_them() {
    all_true(
        r"
url('https://user:pass@Example.com:80/path?query=val#fragment').getHost() == 'Example.com:80'
url('HTTPS://example.com/').getScheme() == 'https' && url('/path').getScheme() == '' && url('mailto:a@b').getScheme() == 'mailto'
url('https://example.com:80/').getHostname() == 'example.com' && url('https://127.0.0.1:80/').getHostname() == '127.0.0.1'
url('https://[::1]:80/').getHost() == '[::1]:80' && url('https://[::1]:80/').getHostname() == '::1' && url('/path').getHostname() == ''
url('https://[fe80::1%25en0]/').getHostname() == 'fe80::1%en0' && url('https://[::1]').getPort() == ''
url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == '' && url('http://a:/').getPort() == ''
url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/' && url('https://example.com').getEscapedPath() == ''
url('/a%2fb%41').getEscapedPath() == '/a%2fb%41' && url('/\u00e9%2f').getEscapedPath() == '/%C3%A9/' && url('*').getEscapedPath() == '*'
url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}
url('https://e.com/p?key with spaces=value with spaces').getQuery() == {'key with spaces': ['value with spaces']}
url('https://e.com/p?').getQuery() == {} && url('https://e.com/p').getQuery() == {} && url('/p?a=1;b=2&&c&%zz=1&d%20e=f+g').getQuery() == {'c': [''], 'd e': ['f g']}
isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path') && isURL('*') && isURL('//') && isURL('a:b')
!isURL('https://a:b:c/') && !isURL('../relative-path') && !isURL('') && !isURL('example.com') && !isURL(':a') && !isURL('http://a b/')
!isURL('http://a:1:2/') && isURL('mongodb://a:1,b:2/') && !isURL('mongodb://a:1,b:c/') && !isURL('http://[1.2.3.4]/') && !isURL('http://a[::1]/')
!isURL('http://[::1') && !isURL('http://[::1]a/') && !isURL('http://%41/') && isURL('http://%c3%a9/') && !isURL('http://us er@a/') && !isURL('http://%zz@a/')
url('http://a/b') == url('HTTP://a/b') && url('http://a/b') != url('http://a/c') && url('http://a?') != url('http://a') && url('http://u:p@a/#f') == url('http://u:p@a/#f')
url('//host/path').getHost() == 'host' && url('///path').getHost() == '' && url('file:///p').getEscapedPath() == '/p' && url('a:b?c=d').getQuery() == {'c': ['d']}
dyn('/a') != dyn(url('/a')) && url('/a') != null && type(url('/a')) != string
        ",
    );
    all_said(&[
        (
            "url('../relative-path') == url('/')",
            "URL parse error during conversion from string: parse \"../relative-path\": invalid URI for request",
        ),
        (
            "url('https://a:b:c/') == url('/')",
            "URL parse error during conversion from string: parse \"https://a:b:c/\": invalid port \":b:c\" after host",
        ),
        (
            "url('') == url('/')",
            "URL parse error during conversion from string: parse \"\": empty url",
        ),
        (
            "url('/a\\n') == url('/')",
            "URL parse error during conversion from string: parse \"/a\\n\": net/url: invalid control character in URL",
        ),
        (
            "url('/?a#%zz') == url('/')",
            "URL parse error during conversion from string: parse \"/?a#%zz\": invalid URL escape \"%zz\"",
        ),
        (
            "url('http://[a]/') == url('/')",
            "URL parse error during conversion from string: parse \"http://[a]/\": invalid host: ParseAddr(\"a\"): unable to parse IP",
        ),
        (
            "url('http://a#b/') == url('/')",
            "URL parse error during conversion from string: parse \"http://a#b/\": invalid character \"#\" in host name",
        ),
        (
            "url('//a:b/') == url('/')",
            "URL parse error during conversion from string: parse \"//a:b/\": invalid port \":b\" after host",
        ),
        (
            "isURL(1)",
            "1:6: found no matching overload for 'isURL' applied to '(int)'",
        ),
        (
            "url('/').getNothing() == ''",
            "1:20: undeclared reference to 'getNothing' (in container '')",
        ),
        (
            "url('/') == '/'",
            "1:10: found no matching overload for '_==_' applied to '(kubernetes.URL, string)'",
        ),
    ]);
}

#[test]
fn addresses_are_read_as_go_reads_them() {
    all_true(
        r"
ip('192.168.0.1') == ip('192.168.0.1') && ip('2001:DB8::68') == ip('2001:db8:0::68') && ip('1.2.3.4') != ip('::1')
isIP('127.0.0.1') && isIP('::1') && isIP('2001:db8::68') && isIP('::1.2.3.4')
!isIP('127.0.0.256') && !isIP(':::1') && !isIP('192.168.0.1.0') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0') && !isIP('')
ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd')
ip('127.0.0.1').family() == 4 && ip('::1').family() == 6
ip('0.0.0.0').isUnspecified() && !ip('127.0.0.1').isUnspecified() && ip('::').isUnspecified() && !ip('::1').isUnspecified()
ip('127.9.0.1').isLoopback() && !ip('192.168.0.1').isLoopback() && ip('::1').isLoopback() && !ip('2001:db8::abcd').isLoopback()
ip('224.0.0.1').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && !ip('fd00::1').isLinkLocalMulticast() && ip('ff32::1').isLinkLocalMulticast()
ip('169.254.169.254').isLinkLocalUnicast() && !ip('192.168.0.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()
ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()
!ip('0.0.0.0').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast() && !ip('224.0.0.1').isGlobalUnicast() && !ip('fe80::1').isGlobalUnicast() && ip('fd00::1').isGlobalUnicast()
string(ip('192.168.0.1')) == '192.168.0.1' && string(ip('2001:DB8::68')) == '2001:db8::68' && type(ip('::1')) == net.IP && type(net.IP) == type
isCIDR('192.168.0.0/16') && isCIDR('::1/128') && isCIDR('192.168.0.1/24') && !isCIDR('192.168.0.0/33') && !isCIDR('::1/129') && !isCIDR('1.2.3.4') && !isCIDR('::ffff:1.2.3.4/100') && !isCIDR('1.2.3.4/08')
cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))
cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP('192.168.1.1') && !cidr('0.0.0.0/0').containsIP('::1') && cidr('::/0').containsIP('::1')
cidr('2001:db8::/32').containsIP('2001:db8::1') && !cidr('2001:db8::/32').containsIP('2001:dc8::1')
cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) && !cidr('192.168.1.0/24').containsCIDR(cidr('192.168.2.0/24')) && cidr('192.168.0.0/16').containsCIDR('192.168.0.1/32')
cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25') && !cidr('192.168.0.0/24').containsCIDR('192.168.0.0/23') && !cidr('0.0.0.0/0').containsCIDR('::/0') && !cidr('::/64').containsCIDR('1.2.3.4/32')
cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/128').ip().family() == 6
cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked() && cidr('2001:db8:1::/32').masked() == cidr('2001:db8::/32')
cidr('192.168.0.0/16').prefixLength() == 16 && cidr('::1/128').prefixLength() == 128 && cidr('192.168.0.0/16') != cidr('192.168.0.0/17')
string(cidr('192.168.0.0/24')) == '192.168.0.0/24' && type(cidr(dyn('192.168.0.0/24'))) == net.CIDR && dyn(ip('::1')) != dyn(cidr('::1/128'))
['1.2.3.4'].all(ip, isIP(ip)) && dyn(cidr('1.2.3.4/8')).ip() == ip('1.2.3.4')
        ",
    );
    all_said(&[
        (
            "ip('192.168.0.1.0').family() == 4",
            "IP Address \"192.168.0.1.0\" parse error during conversion from string: ParseAddr(\"192.168.0.1.0\"): IPv4 address too long",
        ),
        (
            "ip.isCanonical('2001:db8:::68')",
            "IP Address \"2001:db8:::68\" parse error during conversion from string: ParseAddr(\"2001:db8:::68\"): each colon-separated field must have at least one digit (at \":68\")",
        ),
        (
            "ip('fe80::1%eth0').family() == 6",
            "IP address \"fe80::1%eth0\" with zone value is not allowed",
        ),
        (
            "ip('::ffff:1.2.3.4').family() == 6",
            "IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed",
        ),
        (
            "cidr('192.168.0.0/').prefixLength() == 1",
            "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"192.168.0.0/\"): bad bits after slash: \"\"",
        ),
        (
            "cidr('1.2.3.4/8').containsCIDR('::ffff:1.2.3.4/100')",
            "network address parse error during conversion from string: IPv4-mapped IPv6 address \"::ffff:1.2.3.4/100\" is not allowed",
        ),
        ("cidr('1.2.3.4/8').containsIP('x')", "no such overload"),
        (
            "cidr(192168).prefixLength() == 1",
            "1:5: found no matching overload for 'cidr' applied to '(int)'",
        ),
        (
            "isIP(cidr('192.168.0.0/24'))",
            "1:5: found no matching overload for 'isIP' applied to '(net.CIDR)'",
        ),
        (
            "[1].all(net, net.IP == 1)",
            "1:17: type 'int' does not support field selection",
        ),
        (
            "type(1) == kubernetes.URL",
            "1:12: undeclared reference to 'kubernetes' (in container '')",
        ),
    ]);
}

#[test]
fn a_name_with_dots_may_be_a_type() {
    all_true(
        "type(timestamp(0)) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration
         type(object.spec) == map && google.protobuf.Timestamp != net.IP && [1].all(google, google == 1)",
    );
}

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
