"""One page of the web, fetched: its name is resolved once, the address is checked, and the connection goes to that
very address.

Rule: every hop is checked like the first, and a redirect to another site is not followed. Bytes are counted after
they are unpacked, and unpacked no further than the limit. Nothing is kept from one request to the next.
"""

import asyncio
import ipaddress
import re
import socket
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

from msgspec import Struct

from holdfast.tools.envelope import ToolError
from holdfast.tools.web_address import (
    IpAddress,
    WebAddress,
    is_private,
    is_public,
    parse_web_address,
)
from holdfast.version import __version__

MayReach = Callable[[str], bool]
"""Whether a rule of a person lets a site be at an address of this machine or its network."""


def nothing_private(_site: str) -> bool:
    """Without a rule only the public web is reached."""
    return False


MOST_ADDRESSES = 3
"""Addresses of one name that are tried."""
_HEADERS = {
    "user-agent": f"holdfast/{__version__}",
    "accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
    "accept-encoding": "gzip, deflate",
}
_ENCODING = re.compile(r"[a-z-]{1,12}")
_GZIP = b"\x1f\x8b"
REDIRECTS = (301, 302, 303, 307, 308)


class WebLimits(Struct, frozen=True):
    """`size` counts bytes after unpacking; `seconds` is for everything, redirects included."""

    size: int = 2_000_000
    redirects: int = 5
    seconds: float = 30.0


class WebPage(Struct, frozen=True):
    """What a server answered. `elsewhere` is where it redirects to, if that is another site: then there is no body.
    `is_cut` says that there was more."""

    address: WebAddress
    status: int
    content_type: str = ""
    body: bytes = b""
    is_cut: bool = False
    elsewhere: str = ""

    @property
    def answer(self) -> str:
        """The status with its usual words; those of the server could say anything."""
        is_known = any(self.status == known for known in HTTPStatus)
        return f"{self.status} {HTTPStatus(self.status).phrase}" if is_known else str(self.status)


async def fetch_page(url: str, may_reach: MayReach, limits: WebLimits) -> WebPage:
    """The page at an address, after redirects within its site. Raises `ToolError`."""
    try:
        async with asyncio.timeout(limits.seconds):
            return await _follow(parse_web_address(url), may_reach, limits)
    except TimeoutError:
        raise ToolError("TIMEOUT", f"`{url}` was not there within {limits.seconds:g} s") from None


async def _follow(address: WebAddress, may_reach: MayReach, limits: WebLimits) -> WebPage:
    for _ in range(limits.redirects + 1):
        async with _open(address, may_reach) as response:
            target = response.headers.get("location", "")
            if response.status_code not in REDIRECTS or not target:
                return await _read(address, response, limits.size)
        try:
            following = parse_web_address(urljoin(address.url, target))
        except (ValueError, ToolError):
            # The target is not quoted: anything may stand there.
            why = f"`{address.url}` redirects to no address that can be fetched"
            raise ToolError("EXECUTION_ERROR", why) from None
        is_lowered = address.scheme == "https" and following.scheme == "http"
        if following.site != address.site or is_lowered:
            return WebPage(address, response.status_code, elsewhere=following.url)
        address = following
    raise ToolError("EXECUTION_ERROR", f"`{address.url}` redirects more than {limits.redirects} times")


async def _find(address: WebAddress, may_reach: MayReach) -> list[IpAddress]:
    """The addresses of a host, if all of them may be reached."""
    loop = asyncio.get_running_loop()
    try:
        rows = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise ToolError("NOT_FOUND", f"`{address.host}` has no address: {why}") from None
    found = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    for ip in found:
        if is_public(ip) or (is_private(ip) and may_reach(address.site)):
            continue
        rule = f"`WebFetch(domain:{address.site}) with private`"
        hint = f"Only the user can allow it, with the rule {rule}" if is_private(ip) else ""
        raise ToolError(
            "ACCESS_DENIED", f"`{address.host}` is at {ip}, which is not on the public web", hint=hint
        )
    return list(dict.fromkeys(found))[:MOST_ADDRESSES]


@asynccontextmanager
async def _open(address: WebAddress, may_reach: MayReach) -> AsyncIterator[Any]:
    """The answer of a server, its body not read yet."""
    # Loaded late: it takes a fifth of a second, and most sessions fetch nothing.
    import httpx2  # noqa: PLC0415

    found = await _find(address, may_reach)
    trusts_env = all(map(is_public, found))  # a proxy cannot reach what is private
    try:
        secure = await asyncio.to_thread(_certificates) if address.scheme == "https" else False
        opened = httpx2.AsyncClient(verify=secure, trust_env=trusts_env, timeout=None)
    except (ImportError, ValueError, OSError) as error:
        why = "the proxy or the certificates that the environment names cannot be used"
        raise ToolError("EXECUTION_ERROR", f"{why}: {error}", hint="Tell the user") from None
    async with opened as client:
        for number, ip in enumerate(found, 1):
            try:
                request = client.build_request(
                    "GET",
                    httpx2.URL(address.url).copy_with(host=str(ip)),
                    headers={**_HEADERS, "host": address.site},
                    # The name that the certificate must have.
                    extensions={"sni_hostname": address.host},
                )
                response = await client.send(request, stream=True)
            except httpx2.ConnectError as error:
                if number == len(found) or "CERTIFICATE" in str(error):
                    raise _failure(address, error) from None
                continue
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                raise _failure(address, error) from None
            try:
                yield response
            except (httpx2.HTTPError, OSError) as error:
                raise _failure(address, error) from None
            finally:
                await response.aclose()
            return


@cache
def _certificates() -> Any:
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()


def _failure(address: WebAddress, error: Exception) -> ToolError:
    # From here on the message quotes the server.
    said = str(error).partition(": bytearray(")[0]
    said = " ".join(said.split())[:200] or type(error).__name__
    return ToolError("EXECUTION_ERROR", f"`{address.site}` could not be read: {said}")


async def _read(address: WebAddress, response: Any, most: int) -> WebPage:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        named = f" as `{encoding}`" if _ENCODING.fullmatch(encoding) else ""
        raise ToolError("EXECUTION_ERROR", f"`{address.url}` is packed{named}, which was not asked")
    unpacker = _Unpacker() if encoding not in ("", "identity") else None
    body = bytearray()
    async for piece in response.aiter_raw():
        try:
            body += unpacker.unpack(piece, most + 1 - len(body)) if unpacker else piece
        except zlib.error as error:
            raise ToolError("EXECUTION_ERROR", f"`{address.url}` is packed wrongly: {error}") from None
        if len(body) > most or (unpacker and unpacker.is_over):
            break
        # Pieces that are there already follow each other without a pause, and timers must be heard.
        await asyncio.sleep(0)
    return WebPage(
        address,
        response.status_code,
        response.headers.get("content-type", ""),
        bytes(body[:most]),
        len(body) > most,
    )


class _Unpacker:
    """gzip, zlib, or the bare stream that some servers send as `deflate`."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=47)
        self._has_begun = False

    @property
    def is_over(self) -> bool:
        """Whether the packed parts have ended, and what follows is something else."""
        return not _GZIP.startswith(self._stream.unused_data[: len(_GZIP)])

    def unpack(self, piece: bytes, most: int) -> bytes:
        """What a piece holds, no more than `most` bytes of it: a small one may hold gigabytes."""
        try:
            unpacked = self._stream.decompress(self._stream.unconsumed_tail + piece, most)
        except zlib.error:
            if self._has_begun:
                raise
            self._stream = zlib.decompressobj(wbits=-15)
            unpacked = self._stream.decompress(piece, most)
        self._has_begun = True
        while self._stream.eof and len(unpacked) < most and self._stream.unused_data.startswith(_GZIP):
            # Several packed parts in a row count as one text.
            rest = self._stream.unused_data
            self._stream = zlib.decompressobj(wbits=47)
            unpacked += self._stream.decompress(rest, most - len(unpacked))
        return unpacked
