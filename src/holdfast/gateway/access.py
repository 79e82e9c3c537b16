"""Who may use the gateway: programs of this machine, or those that know the token.

Rule: a page in a browser never may, whatever it sends: browsers say where a request comes from, agents do not.
"""

import hmac
from collections.abc import Mapping

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


class Granted(Struct, frozen=True):
    """The path without the token; a refusal, with its status, where the request is refused."""

    path: bytes
    refusal: str = ""
    status: int = 403


class AccessRules(Struct, frozen=True):
    """`hosts` are the names by which the gateway may be asked for, besides those of loopback. With a `token`, paths
    begin with it: a client can be given an address, but seldom one more header."""

    token: str = ""
    hosts: tuple[str, ...] = ()

    def check(self, headers: Mapping[str, str], path: bytes) -> Granted:
        if not path.startswith(b"/"):
            return Granted(path, "this is no proxy: ask for a path, not for an address", 400)
        name = _host(headers.get("host", ""))
        if name not in (*LOOPBACK, *self.hosts):
            # Else a name that an attacker owns, pointed at this machine, would do.
            return Granted(path, f"the host `{name[:100]}` is not this gateway's", 403)
        if "origin" in headers or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return Granted(path, "pages in a browser may not use this gateway", 403)
        if not self.token:
            return Granted(path)
        first, slash, rest = path[1:].partition(b"/")
        if not hmac.compare_digest(first, self.token.encode()):
            return Granted(path, "the address lacks the gateway's token: http://HOST:PORT/TOKEN/v1", 401)
        return Granted(slash + rest or b"/")


def _host(header: str) -> str:
    """The name in a `Host` header, without its port."""
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.rpartition(":")[0] if header.count(":") == 1 else header
