"""`/view` and the process behind it: it shows this session, is started once, and ends with the program."""

import os
import signal
import subprocess
import sys

import httpx2
import pytest

from holdfast.agents.viewer_process import ViewerProcess
from holdfast.errors import InputError
from holdfast.store import MemoryStore
from support.coding_sessions import CodingSetup, run, say
from support.programs import running
from support.waiting import wait_until
from viewer.view_program import is_there

pytestmark = pytest.mark.slow


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Sessions whose browser writes down what it is to open."""
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/opening" && mv "{tmp_path}/opening" "$0.opened"\n'
    )
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def test_it_opens_this_session_and_is_started_once(setup, tmp_path):
    coding = setup.open("Hello.")
    text = run(coding, "/view").text
    address = text.partition("<")[2].partition(">")[0]
    base, _, chosen = address.partition("#")
    assert chosen == "/session"
    wait_until((tmp_path / "browser.opened").exists)
    assert (tmp_path / "browser.opened").read_text() == address
    assert run(coding, "/view").text == text
    say(coding, "Hi.")
    assert len(httpx2.get(f"{base}api/sessions/session/timeline").json()["tokens"]) == 1
    coding.viewer._process.kill()
    wait_until(lambda: not coding.viewer.is_running)
    again = run(coding, "/view").text.partition("<")[2].partition("#")[0]
    assert again != base
    assert is_there(again)
    coding.runner.run(coding.aclose())
    assert not is_there(again)


def test_it_takes_no_argument_and_needs_a_store_on_disk(setup):
    coding = setup.open()
    with pytest.raises(InputError, match="does not take `now`"):
        run(coding, "/view now")
    coding.session.store = MemoryStore()
    with pytest.raises(InputError, match="kept in memory alone"):
        run(coding, "/view")


def test_without_the_extra_it_says_so_in_a_sentence(setup, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text('import sys\nsys.modules["uvicorn"] = None\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    coding = setup.open()
    for _ in range(2):
        with pytest.raises(InputError, match="the viewer needs a server, which is not installed") as refused:
            run(coding, "/view")
        assert refused.value.hint == "run `pip install '.[view]'` in a checkout of Holdfast"


def test_a_folder_with_a_module_of_our_name_is_not_run(setup, tmp_path, monkeypatch):
    (tmp_path / "holdfast.py").write_text("raise SystemExit('taken over')")
    monkeypatch.chdir(tmp_path)
    with ViewerProcess(setup.store.place) as viewer:
        assert viewer.address().startswith("http://127.0.0.1:")


def test_it_ends_with_a_program_that_was_killed(setup, tmp_path):
    code = (
        "import sys, signal; from pathlib import Path\n"
        "from holdfast.agents.viewer_process import ViewerProcess\n"
        "viewer = ViewerProcess(Path(sys.argv[1])); print(viewer.address(), flush=True); signal.pause()"
    )
    words = [sys.executable, "-c", code, setup.store.place]
    with running(words, stdout=subprocess.PIPE, text=True, env=os.environ) as program:
        assert program.stdout is not None
        base = program.stdout.readline().strip()
        assert is_there(base)
        program.send_signal(signal.SIGKILL)
    wait_until(lambda: not is_there(base))
