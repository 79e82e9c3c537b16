"""Addresses on the web: which a tool may ask for, and which machines it may reach.

Rule: what an address leads to is decided by the numbers that its name stands for, never by its spelling. What is
not known to be public is not.
"""

import ipaddress
import re
import socket
from urllib.parse import SplitResult, quote, urlsplit

from msgspec import Struct

from holdfast.tools.envelope import ToolError

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

LONGEST_ADDRESS = 2_000
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252}[a-z0-9_])?")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")
_FOREIGN = re.compile(r"[^\x21-\x7e]+")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_OWN = tuple(
    map(
        ipaddress.ip_network,
        "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1/128 fc00::/7".split(),
    )
)
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        "192.0.0.0/24 168.63.129.16/32 100.100.100.200/32 fd00:ec2::/32 fd20:ce::254/128".split(),
    )
)
"""Protocol assignments, and addresses where clouds answer with the keys of a machine."""


class WebAddress(Struct, frozen=True):
    """`host` is in small letters, without brackets; `target` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def site(self) -> str:
        """The host as rules name it, with the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.site}{self.target}"


def parse_web_address(url: str) -> WebAddress:
    """The parts of an address, with or without blanks around it. Raises `ToolError` for one that no tool may ask
    for."""
    url = url.strip()
    if len(url) > LONGEST_ADDRESS:
        raise _unfit(url[:80] + "…", f"it is longer than {LONGEST_ADDRESS} characters")
    if _UNFIT.search(url):
        raise _unfit(url, "it has a space, a backslash or a control character in it")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _unfit(url, str(error)) from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise _unfit(url, "only `http` and `https` can be fetched")
    if "@" in parts.netloc:
        raise _unfit(_without_login(parts), "it has a name or a password in it")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # As it is sent: spaces of other alphabets would make an address look like a text.
    target = _FOREIGN.sub(lambda found: quote(found[0], errors="replace"), target)
    return WebAddress(scheme, _host(parts, url), port or _PORTS[scheme], target)


def web_site(url: object) -> str:
    """The host of an address as rules name it; empty where it is no address that may be asked for."""
    try:
        return parse_web_address(url).site if isinstance(url, str) else ""
    except ToolError:
        return ""


def _host(parts: SplitResult, url: str) -> str:
    host = (parts.hostname or "").removesuffix(".")
    if "%" in host:
        raise _unfit(url, "it names no host")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    if not _NAME.fullmatch(name):
        raise _unfit(url, "it names no host")
    try:
        # A number in any spelling, as the system reads it: `0x7f.1` is 127.0.0.1.
        return str(ipaddress.IPv4Address(socket.inet_aton(name)))
    except OSError:
        return name


def _without_login(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _unfit(url: str, why: str) -> ToolError:
    return ToolError("INVALID_PARAM", f"`{url}` cannot be fetched: {why}", hint="Give a whole address")


def is_public(ip: IpAddress) -> bool:
    """Whether an address belongs to the public network, and to no machine or network of one's own."""
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return is_public(ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF))
        # Tunnels carry an address of the older kind, which may be any.
        if ip not in _GLOBAL_UNICAST or ip.sixtofour or ip.teredo:
            return False
    return ip.is_global and not ip.is_multicast and not _is_in(ip, _SPECIAL)


def is_private(ip: IpAddress) -> bool:
    """Whether an address is one of this machine or of its own network, which a rule can allow. Link-local ones
    are not: clouds answer there with the keys of a machine."""
    return _is_in(ip, _OWN) and not _is_in(ip, _SPECIAL)


def _is_in(ip: IpAddress, networks: tuple[IpNetwork, ...]) -> bool:
    return any(ip in network for network in networks)


def is_local_site(site: str) -> bool:
    """Whether a host, as rules name it, is by its name alone one that is not public."""
    host = site.partition("]")[0].removeprefix("[") if site.startswith("[") else site.partition(":")[0]
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not is_public(ipaddress.ip_address(host))
    except ValueError:
        return False
