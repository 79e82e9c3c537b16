"""A full disk and a read-only folder, as file systems of their own: one sentence, nothing acknowledged is lost, and
the work goes on as soon as there is room."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.agent_runs import call, environment, repository, says
from support.provider_server import serving

pytestmark = pytest.mark.slow


def run_on_tmpfs(folder, options, *command, **more):
    """Run a command that sees a small file system in a folder."""
    folder.mkdir(exist_ok=True)
    unshare = shutil.which("unshare")
    script = f'mount -t tmpfs -o {options} none "$1" && shift && exec "$@"'
    words = [unshare or "unshare", "-rm", "sh", "-c", script, "sh", str(folder), *map(str, command)]
    probe = [*words[: -len(command)], "true"]
    if not unshare or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here, not even in a namespace")
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


UNTIL_FULL = """
import sys
from pathlib import Path
from holdfast.errors import StoreError
from holdfast.session import Session
from holdfast.store import SqliteStore, verify

folder = Path(sys.argv[1])
filler = folder / "filler"
filler.write_bytes(b"x" * 400_000)
told, number = [], 0
try:
    with Session(store=folder / "s.db", log="work", budget=8_000) as session:
        while True:
            number += 1
            session.append({"role": "user", "content": f"Say {number}."})
            session.append({"role": "assistant", "content": f"{number} " + "words of many kinds " * 200})
            told.append(session.log.entries()[-1].id)
            session.pack()
except StoreError as error:
    print(error.message, "|", error.hint)
with SqliteStore(folder / "s.db") as store:
    assert verify(store) == []
filler.unlink()
with Session(store=folder / "s.db", log="work", budget=8_000) as session:
    assert [entry for entry in told if entry not in {one.id for one in session.log.entries()}] == []
    session.append({"role": "user", "content": "there is room again"})
    session.pack()
print(len(told) > 10, "went on")
"""


def test_a_disk_that_fills_up_loses_nothing_that_was_acknowledged(tmp_path):
    disk = tmp_path / "disk"
    done = run_on_tmpfs(disk, "size=2m", sys.executable, "-c", UNTIL_FULL, disk)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert "disk is full" in first
    assert "check the folder, its permissions and the disk" in first
    assert last == "True went on"


def test_an_import_that_does_not_fit_stores_nothing_and_says_so(tmp_path):
    disk, recording = tmp_path / "disk", tmp_path / "big.jsonl"
    noise = random.Random(7)
    texts = (" ".join(str(noise.randrange(10**9)) for _ in range(600)) for _ in range(600))
    recording.write_text("".join(f'{{"role": "user", "content": "{text}"}}\n' for text in texts))
    script = '"$1" -m holdfast logs import "$2"; echo "$?"; "$1" -m holdfast logs --json'
    env = {**environment(disk / "repo"), "HOLDFAST_STORE": str(disk / "store.db")}
    done = run_on_tmpfs(disk, "size=1500k", "sh", "-c", script, "sh", sys.executable, recording, env=env)
    assert done.stdout.split() == ["4", "[]"]
    assert "disk is full\nhint: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "sentence"), [("size=300k", "full"), ("ro", "store.db")], ids=["full", "ro"]
)
def test_an_agent_without_room_for_its_log_says_so(tmp_path, options, sentence):
    root, disk = repository(tmp_path), tmp_path / "disk"
    reads = [says(call("Read", f"r{n}", path="main.py")) for n in range(3)]
    with serving(*reads, says("Done.")) as server:
        command = [sys.executable, "-m", "holdfast", "run", "-p", "Look. " * 20_000, "--sandbox", "off"]
        command += ["--model", f"compatible/test@{server.openai_url}"]
        env = {**environment(root), "HOLDFAST_STORE": str(disk / "store.db")}
        done = run_on_tmpfs(disk, options, *command, env=env, cwd=root)
    assert done.returncode == 4, done
    assert sentence in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_cannot_be_written_are_an_error_the_model_reads(tmp_path):
    root = tmp_path / "repo"
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from support.file_tools import FileTools
result = FileTools(Path(sys.argv[1])).write("made.txt", "x")
print(result.is_error, result.envelope.text)
"""
    tests = Path(__file__).parents[1]
    done = run_on_tmpfs(root, "ro", sys.executable, "-c", script, root, tests)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ")
    assert "lies on a read-only file system" in done.stdout
