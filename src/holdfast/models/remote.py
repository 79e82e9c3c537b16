"""A model behind a network: an adapter writes and reads, a client carries, and failed requests are repeated.

Rule: a reply is whole, or it is an error. Only a transient error is retried, and what was streamed before it is
void. Waits are random over their whole length, so that many agents stopped at once do not return at once.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Self

from msgspec import Struct

from holdfast.models.adapter import ProviderAdapter, ReplyReader
from holdfast.models.errors import BadReply, ModelError, holds_error, retry_after
from holdfast.models.model import ModelRequest, ReplyCompleted, RetryScheduled, StreamEvent
from holdfast.models.transport import Endpoint, EndpointClient, StreamedResponse, encode_body

_LONGEST_ERROR = 64 * 1024
_OK = 200


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often to retry, and how long to wait, in seconds."""

    most: int = 5
    first: float = 0.5
    """The longest first wait; each later one may be twice as long."""
    longest: float = 30.0
    """No wait is longer, unless the provider asks for more."""
    total: float = 300.0
    """No wait may end later than this after the first attempt began."""


async def with_retries(
    attempt: Callable[[], AsyncGenerator[StreamEvent, None]],
    retries: RetryPolicy,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[StreamEvent, None]:
    """The events of the first attempt that succeeds, `RetryScheduled` between attempts. Raises the last error."""
    began = clock()
    number = 0
    while True:
        try:
            async with aclosing(attempt()) as events:
                async for event in events:
                    yield event
                    if isinstance(event, ReplyCompleted):
                        return
            return
        except ModelError as error:
            if not error.is_transient or number >= retries.most:
                raise
            longest = min(retries.longest, retries.first * 2.0 ** min(number, 64))
            wait = longest * chance() + (error.retry_after or 0.0)
            if clock() - began + wait > retries.total:
                if error.retry_after and not error.hint:
                    error.hint = f"the provider asks to wait {error.retry_after:.0f} seconds"
                raise
            reason = error.message
        number += 1
        yield RetryScheduled(wait, reason)
        await sleep(wait)


class RemoteModel:
    """One model of one provider. It keeps a connection open for the next request: close it, or use `async with`."""

    def __init__(
        self,
        name: str,
        model: str,
        adapter: ProviderAdapter,
        endpoint: Endpoint,
        *,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._adapter = adapter
        self._retries = retries or RetryPolicy()
        self._client = EndpointClient(endpoint)

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r}, {self._client.endpoint!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection. The next request opens a new one."""
        await self._client.aclose()

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        body = encode_body(self._adapter.body(self._model, request))
        return with_retries(lambda: self._attempt(body), self._retries)

    async def _attempt(self, body: bytes) -> AsyncGenerator[StreamEvent, None]:
        endpoint = self._client.endpoint
        headers = {"content-type": "application/json", **self._adapter.headers(endpoint.key.strip())}
        done: ReplyCompleted | None = None
        try:
            async with self._client.open(self._adapter.path, headers, body) as answer:
                await self._check(answer)
                reader = self._adapter.reader()
                reader.limits = endpoint.limits
                async with aclosing(_read_events(answer, reader)) as events:
                    async for event in events:
                        if isinstance(event, ReplyCompleted):
                            done = event
                            break
                        yield event
                await answer.finish()
        except ModelError as error:
            error.message = endpoint.clean(error.message)
            error.hint = endpoint.clean(error.hint)
            error.args = (error.message,)
            raise error from None
        if done is None:
            raise BadReply(f"`{self.name}` ended its answer without a reply")
        # The connection is free again before the reply is given.
        yield done

    async def _check(self, answer: StreamedResponse) -> None:
        """Raises the error that an answer means which is not a stream of events."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind.endswith("json")
        if answer.status == _OK and not is_json and kind != "text/html":
            return
        body = await answer.read(_LONGEST_ERROR)
        # LM Studio, for one, says that a request is too long with the status 200.
        if answer.status != _OK or (is_json and holds_error(body)):
            error = self._adapter.error(answer.status, body, answer.headers)
            if error.retry_after is None:
                error.retry_after = retry_after(answer.headers)
            if answer.headers.get("x-should-retry") == "false":
                error.is_transient = False
            raise error
        begin = " ".join(body[:200].decode("utf-8", "replace").split())
        bad = BadReply(
            f"`{self._client.endpoint.host}` answered with `{kind}` instead of a stream of events: {begin}",
            hint="check that the base URL is the one of the API, and that the server can stream",
        )
        bad.is_transient = False
        raise bad


async def _read_events(answer: StreamedResponse, reader: ReplyReader) -> AsyncGenerator[StreamEvent, None]:
    while (events := await answer.next_events()) is not None:
        for event in events:
            for read in reader.feed(event.name, event.data):
                answer.token_arrived()
                yield read
    for read in reader.end():
        yield read
