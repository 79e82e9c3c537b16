"""The gateway before a provider on loopback, for tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from holdfast.events import Noted
from holdfast.gateway.access import AccessRules
from holdfast.gateway.exchange import ExchangeObserver
from holdfast.gateway.forwarding import Gateway
from holdfast.gateway.metrics import GatewayMetrics
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.serving import in_thread, open_socket
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.text_files import TextFiles
from holdfast.gateway.wires import WIRES
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.store import Store

LOOKUP = model_lookup(load_catalogue())


@contextmanager
def gateway_before(
    upstream: str,
    store: Store | None = None,
    access: AccessRules | None = None,
    *,
    files: Path = Path("/nowhere"),
    missed: int = 0,
    observers: Sequence[ExchangeObserver] = (),
    **settings,
) -> Iterator[str]:
    """The address of a gateway; what passes is recorded in the store before this ends."""
    recorder = None
    metrics = GatewayMetrics()
    if store is not None:
        told = (metrics, *observers)
        recorder = TrafficRecorder(store, GatewaySettings(**settings), TextFiles(files), LOOKUP, told)
    gateway = Gateway(
        dict.fromkeys(WIRES, upstream), access=access or AccessRules(), traffic=recorder, metrics=metrics
    )
    listening = open_socket("127.0.0.1", 0)
    try:
        with in_thread(gateway, listening):
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        if recorder:
            recorder.close()
            assert recorder.missed == missed


def recorder_of(store: Store) -> TrafficRecorder:
    return TrafficRecorder(store, GatewaySettings(), TextFiles(Path("/nowhere")), LOOKUP)


def remarks(store: Store, kind: str) -> list[Noted]:
    """What the logs of the gateway's conversations note of this kind."""
    logs = [info.head.id for info in store.logs() if info.head.source == "gateway"]
    events = [entry.event for log in logs for entry in Log.open(store, log).entries()]
    return [event for event in events if isinstance(event, Noted) and event.kind == kind]
