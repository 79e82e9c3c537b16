"""A model behind a network: the wire says what is sent and what it means, the line carries it.

Rule: a reply is whole, or it is an error. The connection is free before `Done` is given, and closed as soon as
nobody listens any more.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from types import TracebackType
from typing import Self

from holdfast.models.errors import BadReply, ModelError
from holdfast.models.protocol import Came, Done, Request
from holdfast.models.retrying import Retries, with_retries
from holdfast.models.sending import Answer, Endpoint, Line, encoded
from holdfast.models.wire import Reader, Wire
from holdfast.models.wire.failures import holds_error, retry_after

_LONGEST_ERROR = 64 * 1024
_OK = 200


class RemoteModel:
    """One model of one provider. It keeps a connection for the next request: close it, or use `async with`."""

    def __init__(
        self, name: str, model: str, wire: Wire, endpoint: Endpoint, *, retries: Retries | None = None
    ) -> None:
        self.name = name
        self._model = model
        self._wire = wire
        self._retries = retries or Retries()
        self._line = Line(endpoint)

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r}, {self._line.endpoint!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close what is open. The next request opens it again."""
        await self._line.aclose()

    def stream(self, request: Request) -> AsyncGenerator[Came, None]:
        body = encoded(self._wire.body(self._model, request))
        return with_retries(lambda: self._attempt(body), self._retries)

    async def _attempt(self, body: bytes) -> AsyncGenerator[Came, None]:
        endpoint = self._line.endpoint
        headers = {"content-type": "application/json", **self._wire.headers(endpoint.key.strip())}
        done: Done | None = None
        try:
            async with self._line.open(self._wire.path, headers, body) as answer:
                await self._check(answer)
                async with aclosing(_reading(answer, self._wire.reader())) as reading:
                    async for came in reading:
                        if isinstance(came, Done):
                            done = came
                            break
                        yield came
                await answer.finish()
        except ModelError as error:
            raise _cleaned(error, endpoint) from None
        if done is None:
            raise BadReply(f"`{self.name}` ended its answer without a reply")
        yield done

    async def _check(self, answer: Answer) -> None:
        """Raises what an answer means that is no stream of events."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_json = kind.endswith("json")
        if answer.status == _OK and not is_json and kind != "text/html":
            return
        body = await answer.read(_LONGEST_ERROR)
        # LM Studio, for one, says that a request is too long under a status that says all is well.
        if answer.status != _OK or (is_json and holds_error(body)):
            raise self._refusal(answer, body)
        begin = " ".join(body[:200].decode("utf-8", "replace").split())
        error = BadReply(
            f"`{self._line.endpoint.host}` answered with `{kind}` instead of a stream of events: {begin}",
            hint="is the base url the one of the API, and does it stream?",
        )
        error.is_passing = False
        raise error

    def _refusal(self, answer: Answer, body: bytes) -> ModelError:
        error = self._wire.error(answer.status, body, answer.headers)
        if error.retry_after is None:
            error.retry_after = retry_after(answer.headers)
        if answer.headers.get("x-should-retry") == "false":
            error.is_passing = False
        return error


async def _reading(answer: Answer, reader: Reader) -> AsyncGenerator[Came, None]:
    while (events := await answer.next_events()) is not None:
        for event in events:
            for came in reader.feed(event.name, event.data):
                answer.token_came()
                yield came
    for came in reader.end():
        yield came


def _cleaned(error: ModelError, endpoint: Endpoint) -> ModelError:
    """The error without a key in it, whoever put it there."""
    error.message = endpoint.clean(error.message)
    error.hint = endpoint.clean(error.hint)
    error.args = (error.message,)
    return error
