"""`holdfast view` as a program: where it is, that it ends, that it writes nothing, what it says of bad input."""

import os
import socket
import stat
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from cli.command_line import command
from holdfast.gateway.settings import REPLACEMENTS
from holdfast.log import Log
from holdfast.store import SqliteStore
from support.free_port import free_port
from viewer.agent_folders import make_home
from viewer.session_samples import keep, long_work
from viewer.view_program import end, serve

pytestmark = pytest.mark.slow


def test_it_serves_the_logs_of_a_store(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = keep(store, "sample", long_work(8, 2))
        Log.create(store, id=REPLACEMENTS, title="What the gateway sent in place of results")
    before = place.read_bytes()
    program, address, said = serve("--store", place, log)
    base, _, chosen = address.partition("#")
    assert chosen == f"/{log}"
    assert "1 session" in said
    assert [row["id"] for row in httpx2.get(f"{base}api/sessions").json()] == [log]
    assert httpx2.get(f"{base}api/sessions/{log}/timeline?shown=preview").status_code == 200
    end(program)
    assert place.read_bytes() == before


def test_a_recording_is_shown_without_a_store(tmp_path: Path) -> None:
    place, file = tmp_path / "store.db", tmp_path / "talk.json"
    file.write_text('[{"role":"user","content":"go"},{"role":"assistant","content":"done"}]')
    program, address, _ = serve("--store", place, file)
    base = address.partition("#")[0]
    (row,) = httpx2.get(f"{base}api/sessions").json()
    timeline = httpx2.get(f"{base}api/sessions/{row['id']}/timeline").json()
    assert timeline["basis"] == "list"
    assert len(timeline["tokens"]) == 1
    end(program)
    assert not place.exists()


def test_with_a_port_the_address_stays_and_nobody_else_can_read_its_token(tmp_path: Path) -> None:
    place, token = tmp_path / "store.db", tmp_path / "store-view-token"
    SqliteStore(place).close()
    port = free_port()
    addresses = []
    for _ in range(2):
        program, address, _ = serve("--store", place, "--port", port)
        addresses.append(address)
        end(program)
    assert addresses[0] == addresses[1] == f"http://127.0.0.1:{port}/{token.read_text().strip()}/"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    token.chmod(0o644)
    program, address, _ = serve("--store", place, "--port", port)
    end(program)
    assert address not in addresses, "others may have read it"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    token.unlink()
    program, address, _ = serve("--store", place)
    end(program)
    assert not token.exists()
    assert urlsplit(address).path not in {urlsplit(other).path for other in addresses}


def test_a_port_that_is_taken_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = command("view", "--no-open", "--store", tmp_path / "s.db", "--port", taken.getsockname()[1])
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the server cannot listen on 127.0.0.1" in done.stderr
    assert "hint: choose another with `--port`" in done.stderr


def test_the_sessions_of_an_agent_are_shown_by_its_name(tmp_path: Path) -> None:
    folder = make_home(tmp_path)["claude"]
    (folder / "sessions-index.json").write_text('{"version": 1}')
    program, address, said = serve("--store", tmp_path / "store.db", "claude", home=tmp_path)
    assert "showing 2 sessions (1 other file could not be shown)" in said
    rows = httpx2.get(f"{address}api/sessions").json()
    assert {row["title"] for row in rows} == {"Find the parser", "Parser fixed"}
    for row in rows:
        assert httpx2.get(f"{address}api/sessions/{row['id']}/figures").json()["steps"] > 0
        assert httpx2.get(f"{address}api/sessions/{row['id']}/timeline").json()["basis"] == "list"
    (refused,) = httpx2.get(f"{address}api/refused").json()["files"]
    assert refused["place"] == "sessions-index.json"
    end(program)
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["no-such-log"], "`no-such-log` is neither a file, a folder nor the id of a log", 2),
        (["talk.json", "--from", "telepathy"], "telepathy", 2),
        (["codex"], "the folder `~/.codex/sessions` does not exist", 2),
        (["package.json"], "package.json is not a recording in a known format", 2),
        (["torn.jsonl"], "torn.jsonl line 2 is not valid JSON", 2),
    ],
)
def test_bad_input_is_said_in_a_sentence(words, said, code, tmp_path) -> None:
    (tmp_path / "talk.json").write_text('[{"role":"user","content":"go"}]')
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "torn.jsonl").write_text('{"type": "session", "id": "p1"}\n{"type": "mess\n{}\n')
    done = subprocess.run(
        command("view", "--no-open", "--store", "store.db", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
