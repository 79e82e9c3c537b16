"""The gateway before a provider on loopback, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from holdfast.gateway.access import AccessRules
from holdfast.gateway.forwarding import Gateway
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.serving import in_thread, open_socket
from holdfast.gateway.wires import WIRES
from holdfast.store import Store


@contextmanager
def gateway_before(
    upstream: str, store: Store | None = None, access: AccessRules | None = None
) -> Iterator[str]:
    """The address of a gateway; what passes is recorded in the store before this ends."""
    recorder = TrafficRecorder(store) if store is not None else None
    gateway = Gateway(
        dict.fromkeys(WIRES, upstream),
        access=access or AccessRules(),
        **({"listen": recorder} if recorder else {}),
    )
    listening = open_socket("127.0.0.1", 0)
    try:
        with in_thread(gateway, listening):
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        if recorder:
            recorder.close()
            assert recorder.missed == 0
