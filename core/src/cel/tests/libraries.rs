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
}

#[test]
fn a_text_that_is_no_address_is_refused_as_upstream_refuses_it() {
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
