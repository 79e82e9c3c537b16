"""A real model behind a real server, where `HOLDFAST_LOCAL_MODEL` and `HOLDFAST_LLAMA_SERVER` name them."""

import contextlib
import http.client
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

NAMED = {
    name: Path(os.environ.get(name) or "-") for name in ("HOLDFAST_LOCAL_MODEL", "HOLDFAST_LLAMA_SERVER")
}
ABSENT = [name for name, place in NAMED.items() if not place.is_file()]
REASON = f"{' and '.join(ABSENT)} must name a file"


@contextlib.contextmanager
def local_model(folder, window=4096):
    """The address that the model is asked at. One thread: two that wait for each other stand still where others
    work too."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    model, server = NAMED.values()
    words = ["--host", "127.0.0.1", "--port", port, "-c", window, "-t", 1, "-np", 1, "--offline"]
    told = folder / "llama.log"
    with (
        told.open("w") as into,
        subprocess.Popen([server, "-m", model, *map(str, words)], stdout=into, stderr=into) as running,
    ):
        try:
            _wait_for(port, running, told)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            running.kill()


def _wait_for(port, running, told):
    for _ in range(600):
        if running.poll() is not None:
            pytest.fail(f"the server ended with {running.returncode}: {told.read_text()[-1000:]}")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as line:
            try:
                line.request("GET", "/health")
                if line.getresponse().status == http.HTTPStatus.OK:
                    return
            except OSError:
                pass  # It does not listen yet.
        time.sleep(0.2)
    pytest.fail(f"the server is not ready: {told.read_text()[-1000:]}")
