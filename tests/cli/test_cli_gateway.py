"""`holdfast gateway`, as a program; and what it and `holdfast wrap` say of bad input."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from cli.command_line import command
from gateway.gateway_server import remarks
from holdfast.events import Noted
from holdfast.gateway.conversations import REQUEST
from holdfast.gateway.forwarding import ENDED
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import SqliteStore
from support.programs import running
from support.provider_server import Script, serving
from support.waiting import wait_until
from viewer.view_program import is_there

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_gateway_says_where_it_is_and_ends_with_a_signal(number, tmp_path) -> None:
    store = tmp_path / "traffic.db"
    with serving(Script(parts=(Text("Hello."),))) as server:
        words = command("gateway", "--port", "0", "--store", store, "--openai", server.openai_url)
        with running(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            said = [gateway.stderr.readline() for _ in range(3)]
            (address,) = re.findall(r"listening on (\S+) \(", said[0])
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
            assert "Hel" in httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=60).text
            gateway.send_signal(number)
            assert gateway.wait(60) == 0
            assert gateway.stderr.read() == ""
    assert f"openai to {server.openai_url}" in said[1]
    with SqliteStore(store) as kept:
        assert [info.head.title for info in kept.logs()] == ["Hi."]


def test_ctrl_c_says_what_is_left_to_record_where_that_takes_long(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    with serving(Script(parts=(Text("Hello."),)), Script(parts=(Text("Again."),))) as server:
        words = command("gateway", "--port", "0", "--store", store, "--openai", server.openai_url)
        with running(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            (address,) = re.findall(r"listening on (\S+) \(", gateway.stderr.readline())
            first = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
            second = {**first, "messages": [{"role": "user", "content": "Another."}]}
            httpx2.post(f"{address}/v1/chat/completions", json=first, timeout=60)
            with SqliteStore(store) as kept:
                wait_until(lambda: len(remarks(kept, REQUEST)) == 1)
            with closing(sqlite3.connect(store)) as other:
                # Another program writes to the store, and recording waits for it.
                other.execute("begin immediate")
                httpx2.post(f"{address}/v1/chat/completions", json=second, timeout=60)
                gateway.send_signal(signal.SIGINT)
                said = next(line for line in gateway.stderr if "recording" in line)
                other.rollback()
            assert gateway.wait(60) == 0
    assert "recording what passed: 1 request left" in said
    with SqliteStore(store) as kept:
        assert {info.head.title for info in kept.logs()} == {"Hi.", "Another."}


def test_ctrl_c_tells_a_client_that_waits_and_prints_no_traceback(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        words = command("gateway", "--port", "0", "--store", store, "--openai", url)
        with running(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            (address,) = re.findall(r"listening on (\S+) \(", gateway.stderr.readline())
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
            asked = pool.submit(httpx2.post, f"{address}/v1/chat/completions", json=body, timeout=60)
            provider, _ = silent.accept()
            provider.recv(1)
            gateway.send_signal(signal.SIGINT)
            answer = asked.result(60)
            provider.close()
            assert gateway.wait(60) == 0
            said = gateway.stderr.read()
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "gateway_error")
    assert "waiting a few seconds for 1 request under way" in said
    assert "Traceback" not in said
    assert "ERROR" not in said
    with SqliteStore(store) as kept:
        events = [entry.event for entry in Log.open(kept, kept.logs()[0].head.id).entries()]
    assert ENDED in [event.text for event in events if isinstance(event, Noted)]


@pytest.mark.parametrize("words", [["gateway", "--port", "0"], ["wrap", "--base-url-env", "X", "--", "true"]])
def test_a_store_that_cannot_be_opened_is_said_and_starts_nothing(words, tmp_path) -> None:
    place = tmp_path / "store.db"
    place.write_text("This is a note of mine, and no store. " * 100)
    before, after = words[:1], words[1:]
    done = subprocess.run(
        command(*before, "--store", place, *after), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 4, done.stderr
    assert "store.db` is not a SQLite file" in done.stderr
    assert "listening" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wrap", "klaude"], "`klaude` is not a known agent"),
        (["wrap", "--base-url-env", "X", "--", "no-such-program"], "there is no program `no-such-program`"),
        (["wrap", "--base-url-env", "=/v1", "--", "true"], "`=/v1` names no variable"),
        (["gateway", "--openai", "nowhere"], "cannot be the upstream of `openai`"),
        (["gateway", "--budget", "16k"], "`--budget` is for `--mode fold`"),
        (["gateway", "--port", "8431", "--openai", "http://localhost:8431/v1"], "come back to this gateway"),
        (["gateway", "--token", "of mine/x"], "the token has characters"),
        (["gateway", "--control", "many"], "`many` is no share of the sessions"),
        (["gateway", "--control", "150%"], "`150%` is no share of the sessions"),
        (["gateway", "--mode", "fold", "--budget", "lots"], "`lots`"),
        (["gateway", "--mode", "fold", "--budget", "16"], "a budget of 16 tokens is too small"),
        (["gateway", "--mode", "fold", "--budget", "0"], "a budget of 0 tokens is too small"),
    ],
)
def test_bad_input_gets_a_sentence(words, said, tmp_path) -> None:
    done = subprocess.run(
        command(*words, "--store", tmp_path / "s.db") if words[0] == "gateway" else command(*words),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_view_the_gateway_serves_the_viewer_and_does_not_need_it(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    with serving(Script(parts=(Text("Hello."),))) as server:
        words = command("gateway", "--view", "--port", "0", "--store", store, "--openai", server.openai_url)
        with running(words, stderr=subprocess.PIPE, text=True) as gateway:
            assert gateway.stderr is not None
            (address,) = re.findall(r"listening on (\S+) \(", gateway.stderr.readline())
            said = next(line for line in gateway.stderr if "the viewer is at" in line)
            viewer = said.split()[-1]
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
            with httpx2.stream("GET", f"{viewer}api/events", timeout=60) as events:
                httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=60)
                next(line for line in events.iter_lines() if '"title":"Hi."' in line)
            (child,) = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text().split()
            os.kill(int(child), signal.SIGKILL)
            answer = httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=60)
            assert (answer.status_code, is_there(viewer)) == (200, False)
            gateway.send_signal(signal.SIGINT)
            assert gateway.wait(60) == 0
            assert gateway.stderr.read() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_viewer_ends_with_the_gateway(number, tmp_path) -> None:
    words = command("gateway", "--view", "--port", "0", "--store", tmp_path / "traffic.db")
    with running(words, stderr=subprocess.PIPE, text=True) as gateway:
        assert gateway.stderr is not None
        said = next(line for line in gateway.stderr if "the viewer is at" in line)
        viewer = said.split()[-1]
        assert is_there(viewer)
        gateway.send_signal(number)
        assert gateway.wait(60) == 0
        assert gateway.stderr.read() == ""
    assert not is_there(viewer)


def test_a_gateway_that_ends_before_its_viewer_has_started_says_nothing_of_it(tmp_path) -> None:
    words = command("gateway", "--view", "--port", "0", "--store", tmp_path / "traffic.db")
    with running(words, stderr=subprocess.PIPE, text=True) as gateway:
        assert gateway.stderr is not None
        assert "listening on" in gateway.stderr.readline()
        gateway.send_signal(signal.SIGINT)
        assert gateway.wait(60) == 0
        said = gateway.stderr.read()
    assert "there is no viewer" not in said
    assert "Traceback" not in said
