"""What the gateway loads when it listens already: first what passes requests on, then what records them.

Rule: an early request waits and an early exchange is kept; none is refused or lost for having come early.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from holdfast.config import Config
from holdfast.errors import NotFound
from holdfast.gateway.access import AccessRules
from holdfast.gateway.asgi import Application, Message, Receive, Scope, Send
from holdfast.gateway.exchange import ExchangeObserver, PassedExchange, RewriteDeadline, Traffic
from holdfast.gateway.metrics import GatewayMetrics
from holdfast.gateway.settings import REPLACEMENTS, GatewaySettings
from holdfast.gateway.wires import Wire
from holdfast.store import Store

QUIET_SECONDS = 1.0
"""After how long the recorder is loaded if nothing has passed: two threads that import are each as slow as both."""


class ClosingTraffic(Traffic, Protocol):
    """Whose `close` waits until all exchanges are recorded."""

    def close(self) -> None: ...


def start_late(
    upstreams: Mapping[Wire, str],
    *,
    access: AccessRules,
    store: Store,
    settings: GatewaySettings,
    files: Path,
    config: Config,
    observers: Sequence[ExchangeObserver] = (),
) -> tuple["LateApplication", "LateRecorder"]:
    """A gateway, and its recorder, which starts with it. `files` is the folder for texts that are left out."""
    metrics = GatewayMetrics()
    # Imported late, all of them: half the library is behind them, and the server does not wait for it.

    def load_recorder() -> ClosingTraffic:
        from holdfast.gateway.recorder import TrafficRecorder  # noqa: PLC0415
        from holdfast.gateway.text_files import TextFiles  # noqa: PLC0415
        from holdfast.models.catalogue import load_catalogue, model_lookup  # noqa: PLC0415

        lookup = model_lookup(load_catalogue(config))
        return TrafficRecorder(store, settings, TextFiles(files), lookup, (metrics, *observers))

    def load_gateway() -> Application:
        from holdfast.gateway.forwarding import Gateway  # noqa: PLC0415

        return Gateway(upstreams, access=access, traffic=recorder, metrics=metrics)

    recorder = LateRecorder(load_recorder, may_rewrite=settings.mode != "watch" or _has_changed(store))
    return LateApplication(load_gateway, on_quiet=recorder.start), recorder


def _has_changed(store: Store) -> bool:
    """Whether requests of any conversation in the store were ever changed."""
    try:
        store.info(REPLACEMENTS)
    except NotFound:
        return False
    return True


class LateApplication:
    """An ASGI application that is loaded, in a thread, once the server has started. `on_quiet` is called a moment
    after, when a client that waited for the server has had its first answer."""

    def __init__(self, load: Callable[[], Application], on_quiet: Callable[[], None] = lambda: None) -> None:
        self._load = load
        self._on_quiet = on_quiet
        self._ready: asyncio.Task[Application] | None = None
        self._received: asyncio.Queue[Message] = asyncio.Queue()
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self._lifespan: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
            return
        assert self._ready is not None, "the server has started"
        # Shielded: a client that leaves does not end the loading for all.
        application = await asyncio.shield(self._ready)
        await application(scope, receive, send)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = await receive()
        self._ready = asyncio.create_task(self._start(scope, started))
        await send({"type": "lifespan.startup.complete"})
        ended = await receive()
        await asyncio.wait({self._ready})
        if self._lifespan is not None:
            await self._received.put(ended)
            await self._lifespan
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self, scope: Scope, started: Message) -> Application:
        """Load the application, and start it as the server would have."""
        application = await asyncio.to_thread(self._load)
        await self._received.put(started)
        self._lifespan = asyncio.ensure_future(application(scope, self._received.get, self._sent.put))
        await self._sent.get()
        asyncio.get_running_loop().call_later(QUIET_SECONDS, self._on_quiet)
        return application


class LateRecorder:
    """Takes exchanges at once, and gives them to a recorder when it is loaded, which the first one sees to.

    **Contract:** `close` waits until all are recorded.
    """

    def __init__(self, load: Callable[[], ClosingTraffic], *, may_rewrite: bool = False) -> None:
        self._load = load
        self._may_rewrite = may_rewrite
        self._lock = threading.Lock()
        self._early: list[PassedExchange] = []
        self._recorder: ClosingTraffic | None = None
        self._lost = 0
        self.taken = 0
        """How many exchanges it was given."""
        self._thread = threading.Thread(target=self._work, name="holdfast loading")
        self.error: Exception | None = None
        """Why nothing could be recorded."""
        self.on_failure: Callable[[], None] = lambda: None
        """Called when the recorder cannot be loaded."""

    @property
    def missed(self) -> int:
        """How many exchanges could not be recorded."""
        return self._lost + (self._recorder.missed if self._recorder else 0)

    @property
    def waiting(self) -> int:
        return len(self._early) + (self._recorder.waiting if self._recorder else 0)

    def start(self) -> None:
        """Load the recorder, in a thread, if nothing has passed yet."""
        with self._lock:
            self._start()

    def _start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    @property
    def may_rewrite(self) -> bool:
        return self._recorder.may_rewrite if self._recorder else self._may_rewrite

    def rewrite(self, exchange: PassedExchange, deadline: RewriteDeadline) -> bytes | None:
        """Waits until the recorder is loaded: what was changed once must not go unchanged."""
        self.start()
        self._thread.join()
        return self._recorder.rewrite(exchange, deadline) if self._recorder else None

    def rewrite_refused(
        self, exchange: PassedExchange, status: int, reply: bytes, encoding: str
    ) -> bytes | None:
        return self._recorder.rewrite_refused(exchange, status, reply, encoding) if self._recorder else None

    def record(self, exchange: PassedExchange) -> None:
        """Take an exchange. Never waits until it is recorded."""
        with self._lock:
            self.taken += 1
            if self._recorder is not None:
                self._recorder.record(exchange)
            elif self.error is None:
                self._early.append(exchange)
                self._start()
            else:
                self._lost += 1

    def close(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
        if self._recorder is not None:
            self._recorder.close()

    def _work(self) -> None:
        try:
            recorder = self._load()
        except Exception as error:  # Whatever it was, the command that started the gateway says it.
            with self._lock:
                self.error = error
                self._lost = len(self._early)
                self._early.clear()
            self.on_failure()
            return
        with self._lock:
            for exchange in self._early:
                recorder.record(exchange)
            self._early.clear()
            self._recorder = recorder
