"""Who may use the gateway: programs of this machine, or those that know the token.

Rule: a page in a browser never may, whatever it sends: browsers say where a request comes from, agents do not.
"""

import hmac
import re
from collections.abc import Mapping

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")


class AccessDecision(Struct, frozen=True):
    """The path without the token. For a request that is refused, `refusal` says why, with the status of HTTP."""

    path: bytes
    refusal: str = ""
    status: int = 403


class AccessRules(Struct, frozen=True):
    """`hosts` are the names by which the gateway may be asked for, besides those of loopback. With a `token`, paths
    begin with it: a client can be given an address, but seldom one more header."""

    token: str = ""
    hosts: tuple[str, ...] = ()

    def check(self, headers: Mapping[str, str], path: bytes) -> AccessDecision:
        if not path.startswith(b"/"):
            return AccessDecision(path, "this is no proxy: ask for a path, not for an address", 400)
        name = _host(headers.get("host", ""))
        # Elsewhere a machine is asked for by names that it does not know, and a token keeps pages out.
        is_elsewhere = bool(self.token) and not set(self.hosts) <= set(LOOPBACK)
        if not is_elsewhere and name not in (*LOOPBACK, *self.hosts):
            # Otherwise a page could reach the gateway by a name of its own that points at this machine.
            return AccessDecision(path, f"the host `{name[:100]}` is not this gateway's", 403)
        if "origin" in headers or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return AccessDecision(path, "pages in a browser may not use this gateway", 403)
        if not self.token:
            return AccessDecision(path)
        first, slash, rest = path[1:].partition(b"/")
        if not hmac.compare_digest(first, self.token.encode()):
            return AccessDecision(
                path, "the address lacks the gateway's token: http://HOST:PORT/TOKEN/v1", 401
            )
        return AccessDecision(slash + rest or b"/")


def _host(header: str) -> str:
    """The name in a `Host` header, without its port; the whole header where it is not just that."""
    found = re.fullmatch(r"(\[[\da-fA-F:.]+\]|[^:@\[\]]*)(?::\d*)?", header)
    return found[1].lower() if found else header
