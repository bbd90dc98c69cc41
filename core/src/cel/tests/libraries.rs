//! What the functions of Kubernetes' libraries come to.

use super::*;

/// Every line is true.
fn all_true(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert_eq!(told(line), "Bool(true)", "{line}");
    }
}

/// Expressions, and the first line of what is said of them.
fn all_said(table: &[(&str, &str)]) {
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
