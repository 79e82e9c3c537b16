"""Which addresses a tool may ask for, and which machines they may lead to."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.envelope import ToolError
from holdfast.tools.web_address import is_local_site, is_private, is_public, parse_web_address, web_site


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://Example.COM/a?b=c#d", "example.com"),
        ("https://example.com.:443/", "example.com"),
        ("http://example.com:443", "example.com:443"),
        ("http://[::1]:8000/x", "[::1]:8000"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("HTTP://127.0.0.1:80/", "127.0.0.1"),
        *(
            (f"http://{host}/", "127.0.0.1")
            for host in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "①27。0。0。1")
        ),
        ("http://127.0.0.1.example.com/", "127.0.0.1.example.com"),
        (" \n\u2003https://example.com/\t", "example.com"),
    ],
)
def test_a_site_is_named_in_one_way(url, site):
    assert web_site(url) == site


def test_an_address_is_spelled_as_it_is_sent():
    spelled = parse_web_address("https://example.com/ä\u2028b\u202ec\ud800?q=%20é").url
    assert spelled == "https://example.com/%C3%A4%E2%80%A8b%E2%80%AEc%3F?q=%20%C3%A9"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://example.com/",
            "javascript:alert(1)",
            "//example.com/",
            "example.com",
            "",
        ),
        *("https://user:secret@example.com/", "https://user@example.com", "https://example.com@evil.org/"),
        *(
            "https:///path",
            "https://exa mple.com/",
            "https://a\\@b.com/",
            "https://a\r\nb/",
            "https://a%2eb/",
        ),
        *(
            "http://example.com:99999/",
            "http://[::1",
            "http://[fe80::1%25eth0]/",
            "https://-/",
            "https://a/" + "b" * 2000,
        ),
    ],
)
def test_what_no_tool_may_ask_for_is_refused_without_its_login(url):
    with pytest.raises(ToolError) as caught:
        parse_web_address(url)
    assert caught.value.code == "INVALID_PARAM"
    assert "secret" not in str(caught.value)
    assert web_site(url) == ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "public") for text in ("8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808")),
        *(
            (text, "private")
            for text in ("127.0.0.1", "127.9.9.9", "::1", "10.1.2.3", "172.16.0.1", "192.168.1.1")
        ),
        *((text, "private") for text in ("100.64.0.1", "fd00:1::254")),
        *((text, "never") for text in ("100.100.100.200", "fd00:ec2::254", "fd20:ce::254")),
        *(
            (text, "never")
            for text in ("169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "ff0e::1")
        ),
        *((text, "never") for text in ("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "2002:7f00:1::")),
        *((text, "never") for text in ("2001:0:1::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2001:db8::1")),
        *(
            (text, "never")
            for text in ("198.18.0.1", "203.0.113.9", "240.0.0.1", "255.255.255.255", "192.0.0.8")
        ),
        ("168.63.129.16", "never"),
    ],
)
def test_which_addresses_are_public_and_which_a_rule_can_allow(text, kind):
    ip = ip_address(text)
    assert (is_public(ip), is_private(ip)) == (kind == "public", kind == "private")


@given(st.ip_addresses())
def test_no_address_is_both_public_and_private(ip: IPv4Address | IPv6Address):
    assert not (is_public(ip) and is_private(ip))
    assert not is_public(ip) or ip.is_global


@pytest.mark.parametrize(
    ("site", "is_local"),
    [
        *((site, True) for site in ("localhost", "localhost:8000", "a.localhost", "[::1]:80", "10.0.0.1:1")),
        *((site, False) for site in ("example.com:80", "8.8.8.8", "localhost.example.com", "")),
    ],
)
def test_a_host_that_is_local_by_its_name(site, is_local):
    assert is_local_site(site) is is_local
