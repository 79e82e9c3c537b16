"""`holdfast view` as a program: where it is, that it ends, that it writes nothing, what it says of bad input."""

import re
import signal
import subprocess
from pathlib import Path

import httpx2
import pytest

from cli.command_line import command
from holdfast.store import SqliteStore
from viewer.session_samples import keep, long_work

pytestmark = pytest.mark.slow


def view(*words: object) -> tuple[subprocess.Popen[str], str, str]:
    """The program, the address that it prints, and what it says with it."""
    program = subprocess.Popen(command("view", "--no-open", *words), stderr=subprocess.PIPE, text=True)
    assert program.stderr is not None
    said = next(line for line in program.stderr if "http://" in line)
    return program, re.findall(r"at (http://\S+) ", said)[0], said


def end(program: subprocess.Popen[str]) -> None:
    program.send_signal(signal.SIGINT)
    assert program.wait(60) == 0
    assert program.stderr is not None
    assert program.stderr.read() == ""
    program.stderr.close()


def test_it_serves_the_logs_of_a_store(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = keep(store, "sample", long_work(8, 2))
    before = place.read_bytes()
    program, address, said = view("--store", place, log)
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
    program, address, _ = view("--store", place, file)
    base = address.partition("#")[0]
    (row,) = httpx2.get(f"{base}api/sessions").json()
    timeline = httpx2.get(f"{base}api/sessions/{row['id']}/timeline").json()
    assert timeline["basis"] == "list"
    assert len(timeline["tokens"]) == 1
    end(program)
    assert not place.exists()


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["no-such-log"], "`no-such-log` is neither a file nor the id of a log", 2),
        (["talk.json", "--from", "telepathy"], "telepathy", 2),
    ],
)
def test_bad_input_is_said_in_a_sentence(words, said, code, tmp_path) -> None:
    (tmp_path / "talk.json").write_text('[{"role":"user","content":"go"}]')
    done = subprocess.run(
        command("view", "--no-open", "--store", "store.db", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr
