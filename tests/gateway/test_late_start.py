"""The gateway listens before it is loaded: what comes early waits, and nothing of it is lost."""

import subprocess
import sys
import threading
import time

import httpx2
import pytest

from gateway.gateway_server import recorder_of
from holdfast.errors import InputError
from holdfast.gateway.exchange import PassedExchange, RequestChange
from holdfast.gateway.late_start import LateApplication, LateRecorder
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.serving import Server, in_thread, open_socket
from holdfast.gateway.wires import Route
from holdfast.store import MemoryStore

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "Number %d."}]}'


def exchange(number: int) -> PassedExchange:
    return PassedExchange(
        route=Route("openai", "openai"), at=time.time(), headers={}, path="/v1/chat/completions",
        body=BODY % number, change=RequestChange(), reply=bytearray(),
    )  # fmt: skip


async def answers(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"loaded"})


def test_a_request_that_comes_early_waits_until_the_application_is_loaded() -> None:
    asked, loaded = threading.Event(), threading.Event()

    def load():
        assert loaded.wait(30)
        return answers

    said: list[str] = []
    listening = open_socket("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def ask() -> None:
        with httpx2.Client(timeout=30) as client:
            request = client.build_request("GET", url)
            asked.set()
            said.append(client.send(request).text)

    client = threading.Thread(target=ask)
    with in_thread(LateApplication(load), listening):
        client.start()
        assert asked.wait(30)
        assert said == []
        loaded.set()
        client.join()
    assert said == ["loaded"]


def test_early_and_late_exchanges_are_all_recorded_in_their_order() -> None:
    store = MemoryStore()
    loading = threading.Event()

    def load() -> TrafficRecorder:
        assert loading.wait(30)
        return recorder_of(store)

    recorder = LateRecorder(load)
    for number in range(4):
        recorder.record(exchange(number))
    recorder.start()
    loading.set()
    recorder.record(exchange(4))
    recorder.close()
    assert recorder.missed == 0
    titles = [info.head.title for info in store.logs()]
    assert sorted(titles) == [f"Number {number}." for number in range(5)]


def test_a_recorder_that_never_started_is_closed() -> None:
    recorder = LateRecorder(lambda: recorder_of(MemoryStore()))
    recorder.close()
    assert recorder.missed == 0


def test_a_recorder_that_cannot_be_loaded_ends_the_server_and_counts_what_passed() -> None:
    def load() -> TrafficRecorder:
        raise InputError("the store is damaged")

    recorder = LateRecorder(load)
    server = Server(answers, on_start=recorder.start)
    recorder.on_failure = server.stop
    recorder.record(exchange(1))
    server.serve_on(open_socket("127.0.0.1", 0))
    recorder.close()
    recorder.record(exchange(2))
    assert recorder.missed == 2
    with pytest.raises(InputError, match="damaged"):
        raise recorder.error or AssertionError


@pytest.mark.parametrize(
    ("imports", "unwanted"),
    [
        ("holdfast.cli.app, holdfast.cli.gateway, holdfast.cli.wrap, holdfast.gateway.serving",
         "httpx2 holdfast.session holdfast.packing.window holdfast.redaction holdfast.tokenizers"),
        ("holdfast.gateway.forwarding",
         "holdfast.packing holdfast.redaction holdfast.tokenizers holdfast.store"),
    ],
)  # fmt: skip
def test_nothing_on_the_way_to_the_first_byte_loads_what_records(imports: str, unwanted: str) -> None:
    code = f"import sys, {imports}; print(sorted(set({unwanted.split()}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "loaded"), [("watch", "0"), ("safe", "1")])
def test_what_looks_for_secrets_is_loaded_before_the_first_large_result(mode: str, loaded: str) -> None:
    code = f"""
from pathlib import Path
from holdfast.gateway.recorder import TrafficRecorder
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.text_files import TextFiles
from holdfast.redaction import kingfisher
from holdfast.store import MemoryStore
TrafficRecorder(MemoryStore(), GatewaySettings({mode!r}), TextFiles(Path("/nowhere")), lambda _: None).close()
print(kingfisher._load.cache_info().currsize)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == loaded
