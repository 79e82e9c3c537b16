"""HTTP to a provider: JSON goes out, server-sent events come back.

Rule: only this module uses httpx2, and loads it when something is first sent. Whatever it raises becomes a
`ModelError` that names the host, and neither key nor address. Of server-sent events names and data come out, as the
WHATWG standard says; what a provider means by them is not known here.
"""

import asyncio
import ipaddress
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from holdfast.errors import ConfigError
from holdfast.messages import Json
from holdfast.models.errors import AuthFailed, ModelError, NetworkFailed, TimedOut
from holdfast.models.reply_limits import ReplyLimitReached, ReplyLimits
from holdfast.version import __version__

_REDACTED = "<REDACTED>"
_SHORTEST_SECRET = 8
"""Servers without keys are given words such as `EMPTY`, which may be part of any message."""
_SECRET_NAMES = ("auth", "cookie", "key", "secret", "token")
_END_OF_STREAM = 0.25
"""Seconds to wait for the end of a stream once the reply is whole."""


class Timeouts(Struct, frozen=True, kw_only=True):
    """Seconds. Only waiting counts, not the time that the reader of a reply takes.

    Any byte, even a ping or a comment, shows that the connection is alive and restarts `first_token` and `idle`:
    healthy models think for minutes, or write one large call, and send only pings meanwhile. But a reply of nothing
    but pings ends after `stalled`.
    """

    connect: float = 10.0
    first_token: float = 120.0
    """Nothing arrived, and there is no token yet."""
    idle: float = 60.0
    """Nothing arrived, in the middle of a reply."""
    stalled: float = 600.0
    """No token arrived, with or without pings."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where a provider is, and its key. `headers` are sent with every request, over those of the adapter."""

    url: str
    key: str = ""
    headers: Mapping[str, str] = {}
    timeouts: Timeouts = Timeouts()
    limits: ReplyLimits = ReplyLimits()

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"the base URL of a provider is not a web address: `{_REDACTED if '@' in self.url else self.url}`",
                hint="give it as `https://host/path`",
            )
        if "@" in parts.netloc:
            raise ConfigError(
                f"the base URL of `{parts.hostname}` contains a name or password, which logs would show",
                hint="leave the name and password out of the URL; the key is read from the environment",
            )

    def __repr__(self) -> str:
        return f"Endpoint(host={self.host!r}, key={_REDACTED if self.key else ''!r}, headers={list(self.headers)})"

    @property
    def host(self) -> str:
        """With the port, if one is given."""
        return _split(self.url).netloc

    @property
    def is_loopback(self) -> bool:
        name = _split(self.url).hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        with suppress(ValueError):
            return ipaddress.ip_address(name).is_loopback
        return False

    def at(self, path: str) -> str:
        """The address of a path below the base; a query of the base stays at the end."""
        parts = _split(self.url)
        return parts._replace(path=parts.path.rstrip("/") + path, fragment="").geturl()

    def clean(self, text: str) -> str:
        """The text without secrets, and without the beginning of one where the text was cut."""
        named = [v for name, v in self.headers.items() if any(s in name.lower() for s in _SECRET_NAMES)]
        bare = [value.rpartition(" ")[2] for value in named]
        for secret in (self.key.strip(), *named, *bare):
            if len(secret) < _SHORTEST_SECRET:
                continue
            text = text.replace(secret, _REDACTED)
            begun = text.rstrip("… ")
            lengths = range(len(secret) - 1, _SHORTEST_SECRET - 1, -1)
            cut = next((length for length in lengths if begun.endswith(secret[:length])), 0)
            text = f"{begun[:-cut]}{_REDACTED}…" if cut else text
        return text


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return SplitResult("", "", "", "", "")
    return parts


_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(Struct, frozen=True):
    """`name` is empty where the stream gives none."""

    name: str
    data: str


class SseDecoder:
    """Takes pieces of one stream, however it is cut. An event counts only once a blank line has ended it.

    The decoder of httpx2 loses the first event after a byte order mark, yields events that have no data or never
    ended, and reads only its own responses.
    """

    def __init__(self, largest: int = ReplyLimits().event_size) -> None:
        self._largest = largest
        self._line = bytearray()
        """The unfinished line."""
        self._name = ""
        self._data = bytearray()
        """The lines of data, each with its line end."""
        self._is_first = True
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in this piece. Raises `ReplyLimitReached` where one grows beyond the limit."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        *lines, rest = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if (event := self._end_line(line)) is not None:
                yield event
        self._line += rest
        self._check_size()

    def _check_size(self) -> None:
        if len(self._line) + len(self._data) > self._largest:
            raise ReplyLimitReached(f"an event of the stream is larger than {self._largest} bytes")

    def _end_line(self, line: bytes) -> ServerSentEvent | None:
        """The event that ends with this line, if one does."""
        if self._line:
            line = bytes(self._line) + line
            self._line.clear()
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end_event()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data += value + b"\n"
            self._check_size()
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _end_event(self) -> ServerSentEvent | None:
        name, self._name = self._name, ""
        if not self._data:
            return None
        data = self._data[:-1].decode("utf-8", "replace")
        self._data.clear()
        return ServerSentEvent(name, data)


class StreamedResponse:
    """What a provider sends back, while it arrives. Names of `headers` are in lower case."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        pieces: AsyncGenerator[bytes, None],
        endpoint: Endpoint,
        began: float,
    ) -> None:
        """`began` is when the request was sent, by the clock of the event loop."""
        self.status = status
        self.headers = headers
        self._pieces = pieces
        self._timeouts = endpoint.timeouts
        self._limits = endpoint.limits
        self._host = endpoint.host
        self._decoder = SseDecoder(endpoint.limits.event_size)
        self._size = 0
        self._deadline = began + endpoint.limits.seconds
        self._has_begun = False
        self._waited = 0.0
        """Since the last token."""

    def token_arrived(self) -> None:
        """The last piece was part of a reply."""
        self._has_begun = True
        self._waited = 0.0

    async def next_events(self) -> list[ServerSentEvent] | None:
        """The events that the next piece completes, which may be none; None at the end."""
        piece = await self._next_piece()
        # Pieces of a compressed body follow each other without a pause, and timers and signals must be heard.
        await asyncio.sleep(0)
        return None if piece is None else list(self._decoder.feed(piece))

    async def read(self, most: int) -> bytes:
        """The body, or as much of it as matters."""
        body = b""
        while len(body) < most and (piece := await self._next_piece()) is not None:
            body += piece
        return body[:most]

    async def finish(self) -> None:
        """Read to the end, so that the connection can be used again; not for long, and ignoring failures."""
        with suppress(TimeoutError, NetworkFailed, ReplyLimitReached):
            async with asyncio.timeout(_END_OF_STREAM):
                while await self._next_piece() is not None:
                    pass

    async def _next_piece(self) -> bytes | None:
        timeouts = self._timeouts
        silence = timeouts.idle if self._has_begun else timeouts.first_token
        left = timeouts.stalled - self._waited
        late = f"nothing for {silence:g} s" if silence <= left else f"no token for {timeouts.stalled:g} s"
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            with _named_failures(self._host, late):
                async with asyncio.timeout(min(silence, left, self._deadline - began)):
                    piece = await anext(self._pieces, None)
        except TimedOut:
            if clock() < self._deadline:
                raise
            raise ReplyLimitReached(
                f"`{self._host}` did not end its reply within {self._limits.seconds:g} s"
            ) from None
        self._waited += clock() - began
        self._size += len(piece or b"")
        if self._size > self._limits.size:
            raise ReplyLimitReached(f"`{self._host}` sent more than {self._limits.size} bytes for one reply")
        return piece


class EndpointClient:
    """One HTTP client for one endpoint, opened at first use, and again after `aclose` or in another event loop."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        # An `httpx2.AsyncClient`: the annotation would load httpx2.
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def open(
        self, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncIterator[StreamedResponse]:
        """POST the body, or GET where there is none. Leaving the context closes the connection at once, unless the
        answer was read to its end."""
        sent = {**headers, **self.endpoint.headers}
        for name, value in sent.items():
            # The error that httpx2 raises for an invalid header would show its value.
            if not (value.isascii() and value.isprintable()):
                raise AuthFailed(
                    f"the header `{name}` for `{self.endpoint.host}` has a line break or a "
                    "character no header can hold",
                    hint="check that the key was copied whole and alone",
                )
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = _client(self.endpoint), loop
        client = self._client
        method = "GET" if body is None else "POST"
        timeouts = self.endpoint.timeouts
        patience = min(timeouts.first_token, timeouts.stalled, self.endpoint.limits.seconds)
        began = loop.time()
        with _named_failures(self.endpoint.host, f"nothing for {patience:g} s"):
            request = client.build_request(method, self.endpoint.at(path), headers=sent, content=body)
            async with asyncio.timeout(patience):
                response = await client.send(request, stream=True)
        try:
            async with aclosing(response.aiter_bytes()) as pieces:
                names = {name.lower(): value for name, value in response.headers.items()}
                if "," in names.get("content-encoding", ""):
                    # Each layer may expand a thousandfold, and only the last one can be counted.
                    raise ReplyLimitReached(f"`{self.endpoint.host}` compressed its answer more than once")
                yield StreamedResponse(response.status_code, names, pieces, self.endpoint, began)
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()


def _client(endpoint: Endpoint) -> Any:
    # Loaded late: it takes a fifth of a second, and most commands send nothing.
    import httpx2  # noqa: PLC0415

    try:
        # Reading certificates takes a tenth of a second. Where none are needed, a context without any will do.
        secure = endpoint.url.lower().startswith("https:")
        trusted = httpx2.create_ssl_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=endpoint.timeouts.connect),
            verify=trusted,
            # A proxy from the environment cannot reach the ports of this machine.
            trust_env=not endpoint.is_loopback,
            # Compressed events would wait in buffers on their way.
            headers={"user-agent": f"holdfast/{__version__}", "accept-encoding": "identity"},
        )
    except ImportError:
        raise ModelError(
            f"`{endpoint.host}` cannot be asked: the environment names a SOCKS proxy",
            hint="install `socksio`, or name the host in `NO_PROXY`",
        ) from None
    except (ValueError, OSError, httpx2.InvalidURL):
        raise ModelError(
            f"`{endpoint.host}` cannot be asked: the environment's proxy or certificates cannot be used",
            hint="check `HTTPS_PROXY`, `ALL_PROXY`, `SSL_CERT_FILE` and `SSL_CERT_DIR`",
        ) from None


@contextmanager
def _named_failures(host: str, late: str) -> Iterator[None]:
    """Failures on the way as our errors. Tracebacks of httpx2 may hold headers, so they are not chained."""
    # Loaded by now: the client was made with it.
    import httpx2  # noqa: PLC0415

    try:
        yield
    except httpx2.ConnectTimeout:
        raise TimedOut(f"`{host}` did not accept the connection in time") from None
    except TimeoutError:
        raise TimedOut(
            f"`{host}` sent {late}", hint="the model may still be loading, or the server busy"
        ) from None
    except (httpx2.ConnectError, httpx2.ProxyError) as error:
        said = _said(error)
        if "CERTIFICATE_VERIFY_FAILED" in said:
            raise ModelError(
                f"`{host}` has a certificate that is not trusted: {said}",
                hint="name the certificate of a private authority in `SSL_CERT_FILE`",
            ) from None
        raise NetworkFailed(
            f"`{host}` cannot be reached: {said}", hint="check the address and the network"
        ) from None
    # httpx2 passes on TLS errors in the middle of a stream as they are.
    except (httpx2.HTTPError, OSError) as error:
        raise NetworkFailed(f"`{host}` closed the connection: {_said(error)}") from None
    except httpx2.InvalidURL as error:
        raise ModelError(f"`{host}` is not an address: {_said(error)}") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def encode_body(body: dict[str, Json]) -> bytes:
    """JSON as providers take it. A lone surrogate, as tools sometimes print, becomes a question mark."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
