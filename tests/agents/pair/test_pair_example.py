"""The worked example, and the same killed at an event and started again: the same end, nothing done twice.

In front of an event all that led to it was done and it is not written; behind a reply its calls are written and not
made. Other moments are the same as one of these.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.agents.pair.startup import open_pair
from holdfast.errors import NotFound
from holdfast.events import Compacted
from holdfast.log import Log, export_log, import_log
from holdfast.messages import joined_text
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.packing.validator import check
from holdfast.store import SqliteStore
from support.agent_runs import killed
from support.pair_crash import (
    EXAMPLE,
    CrashPoint,
    crash_at,
    folder_state,
    models,
    pair_options,
    phases_of,
    played,
    prepare,
    uncertain_in,
)

EVERY = "HOLDFAST_EVERY_CRASH"
"""Set, the whole example is killed at each of its events; else at some of each kind."""
SOME = (2, 24, 45, 60, 73)
MOST = 130


@pytest.fixture(autouse=True)
def quick_python(monkeypatch):
    """The interpreter of the tests: one that is looked for first by a shell script takes longer than all else."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    root = prepare(tmp_path_factory.mktemp("reference"))
    crash_point = CrashPoint()
    with crash_at(crash_point):
        assert played(root).reason == "success"
    return folder_state(root), phases_of(root), crash_point.count


def crashed_and_resumed(root, crash_point):
    with crash_at(crash_point):
        try:
            played(root)
        except BaseException:
            if not crash_point.has_crashed:
                raise
    assert crash_point.has_crashed
    try:
        return played(root, goes_on=True)
    except NotFound:
        return played(root)  # it died before there was a log


@pytest.mark.slow
def test_it_runs_by_the_one_command_that_its_readme_names(tmp_path):
    command = re.search(
        r"^    (python3 examples/pair/run.py)$", (EXAMPLE / "README.md").read_text(), re.MULTILINE
    )
    assert command, "the readme names it"
    script = command[1].removeprefix("python3 ")
    root = EXAMPLE.parents[1]
    done = subprocess.run(
        [sys.executable, script, tmp_path / "it"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "success: 15/15 (100%) passed, and 85% was the target" in done.stdout
    for role in ("init", "execute"):
        assert done.stdout.count(f"{role}: summarized") >= 1, "a compaction on each side"
    assert (
        "refused: INVALID_PARAM: the handover was refused: `design/formats.md` does not exist" in done.stdout
    )


@pytest.mark.slow
def test_three_iterations_that_rise_with_the_design_repaired(reference):
    _, phases, _ = reference
    shown = [json.loads(phase) for phase in phases]
    results = [one["results"] for one in shown if one["is"] == "HandoverAccepted" and one["results"]]
    assert [(one["passed"], one["total"]) for one in results] == [(7, 15), (12, 15), (15, 15)]
    layers = [sorted({failure["layer"] for failure in one["failures"]}) for one in results]
    assert layers == [[1, 2], [2], []]
    assert [one["role"] for one in shown if one["is"] == "TurnBegan"] == [
        "init",
        "execute",
        "init",
        "execute",
        "execute",
    ]
    assert len({one["id"] for one in shown if one["is"] == "DecisionMade"}) == 2, "both designs were approved"


@pytest.mark.slow
def test_what_decides_stands_in_every_request_and_in_the_summary(tmp_path):
    both = models()
    root = prepare(tmp_path)
    asyncio.run(play_with(root, both))
    working = [r for r in both[1].requests if "<compact_summary>" not in joined_text(r.messages[-1].parts)]
    third = [r for r in working if "Iteration 3 of at most 10." in str(r.messages)]
    assert third
    for request in third:
        assert "iteration 2: 12/15 (80%) passed" in joined_text(request.messages[-1].parts)
    with SqliteStore(root.parent / "store.db") as store:
        log = next(info.head.id for info in store.logs() if info.head.id.endswith(".execute"))
        states = [e.event.text for e in Log.open(store, log).entries() if isinstance(e.event, Compacted)]
    assert len(states) >= 1
    for key in ("evaluation_progress", "success_rate", "pending_work", "key_paths"):
        assert f'"{key}"' in states[0]
    assert "below 85% go on; return only for problems of layer 1" in states[0]


@pytest.mark.slow
def test_every_request_of_both_agents_is_valid_for_both_providers(tmp_path):
    both = models()
    asyncio.run(play_with(prepare(tmp_path), both))
    requests = [request for model in both for request in model.requests]
    assert len(requests) > 30
    for request in requests:
        sent = AnthropicAdapter().body("claude", request)
        wrong = check(sent["messages"], "anthropic", system=sent.get("system"), tools=sent.get("tools"))
        assert wrong == ()
        sent = OpenAIChatAdapter().body("gpt", request)
        assert check(sent["messages"], "openai", tools=sent.get("tools")) == ()


async def play_with(root, both):
    opened = await open_pair(pair_options(root), env={}, models=both)
    try:
        assert (await opened.orchestrator.run()).reason == "success"
    finally:
        await opened.close()


@pytest.mark.slow
def test_it_goes_on_on_another_machine_from_its_logs_and_its_folder(tmp_path, reference):
    """Killed halfway, its logs exported and imported elsewhere."""
    here = prepare(tmp_path / "here")
    with crash_at(CrashPoint(66)), suppress(BaseException):
        played(here)
    there = tmp_path / "there" / "project"
    shutil.copytree(here, there)
    with SqliteStore(here.parent / "store.db") as old, SqliteStore(there.parent / "store.db") as new:
        ids = [info.head.id for info in old.logs()]
        assert len(ids) == 3
        for id_ in ids:
            import_log(new, export_log(Log.open(old, id_)))
    shutil.rmtree(here.parent)
    pair_log = next(id_ for id_ in ids if "." not in id_)
    options = pair_options(there)
    outcome = played(there, goes_on=True, agent=replace(options.agent, log=pair_log))
    assert outcome.reason == "success"
    assert folder_state(there) == reference[0]


@pytest.mark.slow
@pytest.mark.parametrize("is_written", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("at", range(1, MOST + 1) if os.environ.get(EVERY) else SOME)
def test_the_example_killed_at_an_event(tmp_path, reference, at, is_written):
    files, phases, count = reference
    if at > count:
        pytest.skip("it has fewer events")
    root = prepare(tmp_path)
    outcome = crashed_and_resumed(root, CrashPoint(at, is_written=is_written))
    assert outcome.reason == "success"
    assert folder_state(root) == files
    assert phases_of(root) == phases
    shutil.rmtree(root)


def test_no_event_of_the_example_is_left_out(reference):
    assert max(SOME) < reference[2] <= MOST


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
KILLED = """
import asyncio, sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from support.pair_crash import played
played(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_while_the_evaluation_runs(tmp_path, reference):
    """A real process, and a signal that cannot be caught."""
    root = prepare(tmp_path)
    shim = root / "shim" / "python3"  # where a sandbox sees it
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\ntouch begun\nsleep 60\n")
    shim.chmod(0o755)
    tests = Path(__file__).parents[2]
    slowly = {**os.environ, "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"}
    running = subprocess.Popen([sys.executable, "-c", KILLED, root, tests], env=slowly, **PIPES)
    killed(running, (root / "begun").exists)
    (root / "begun").unlink()
    shutil.rmtree(shim.parent)
    assert played(root, goes_on=True).reason == "success"
    files, phases, _ = reference
    assert folder_state(root) == files
    assert phases_of(root) == phases
    (asked,) = uncertain_in(root)
    assert "what `execute` called before a crash is uncertain: Bash python3 evaluate.py 1" in asked
