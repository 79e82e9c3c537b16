"""`holdfast replay` and `holdfast fit` take logs of the store wherever they take a file."""

import json
from pathlib import Path

import httpx2
import msgspec
import pytest
from command_line import Outcome, holdfast, process

from gateway.gateway_server import gateway_before
from holdfast.lab.results import ReplayReport
from holdfast.log import Log
from holdfast.messages import Text, ToolCall
from holdfast.store import SqliteStore
from support.evidence_recordings import make_recording, write_recordings
from support.provider_server import Script, serving

SMALL = ("--budget", "1k", "--policy", "newest,code", "--json")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recordings(tmp_path / "r.jsonl", make_recording("one"))


def imported(file: Path, store: Path) -> str:
    done = holdfast("logs", "import", file, "--store", store)
    assert done.code == 0, done.err
    with SqliteStore(store) as kept:
        (info,) = kept.logs()
        return info.head.id


def report_of(done: Outcome) -> ReplayReport:
    assert done.code == 0, done.err
    return msgspec.json.decode(done.out, type=ReplayReport)


def figures(report: ReplayReport) -> list[object]:
    return [(row.policy, row.budget, row.hard, row.dollars) for row in report.rows]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_log_gives_the_figures_of_the_file_that_it_was_imported_from(recording, jobs, tmp_path) -> None:
    """With two jobs a process of its own opens the store."""
    store = tmp_path / "kept.db"
    log = imported(recording, store)
    of_file = report_of(holdfast("replay", recording, *SMALL, "--jobs", 1))
    of_log = report_of(process("replay", log[:8], *SMALL, "--jobs", jobs, "--store", store))
    assert of_log.files == [log]
    assert of_log.recordings == 1
    assert figures(of_log) == figures(of_file)
    assert any(row.hard for row in of_log.rows)


def test_files_and_logs_may_be_mixed(recording, tmp_path) -> None:
    store = tmp_path / "kept.db"
    log = imported(recording, store)
    report = report_of(holdfast("replay", recording, log, *SMALL, "--jobs", 1, "--store", store))
    assert (report.files, report.recordings) == (["r.jsonl", log], 2)


def ask(gateway: str, body: dict[str, object]) -> None:
    """A request of a client that names its session: so a list that begins again is a rewind."""
    headers = {"x-session-id": "one"}
    httpx2.post(f"{gateway}/v1/chat/completions", json=body, headers=headers, timeout=60).raise_for_status()


def recorded_by_the_gateway(store: Path, steps: int) -> str:
    """A conversation through the gateway: at every step the model looks at a file, and is told what is in it."""
    replies = [
        Script(
            parts=(Text(f"I look at {step}."), ToolCall(f"c{step}", "Read", {"path": f"src/part_{step}.py"}))
        )
        for step in range(steps)
    ]
    messages: list[dict[str, object]] = [{"role": "user", "content": "Find where the total is computed."}]
    with serving(*replies, Script(parts=(Text("In part_0."),))) as server, SqliteStore(store) as kept:
        with gateway_before(server.openai_url, kept) as gateway:
            for step in range(steps + 1):
                body = {"model": "m", "messages": messages, "stream": True}
                ask(gateway, body)
                function = {"name": "Read", "arguments": json.dumps({"path": f"src/part_{step}.py"})}
                messages += [
                    {"role": "assistant", "content": f"I look at {step}.", "tool_calls": [
                        {"id": f"c{step}", "type": "function", "function": function}]},
                    {"role": "tool", "tool_call_id": f"c{step}",
                     "content": "\n".join(f"def compute_{step}_{line}(): ..." for line in range(40))},
                ]  # fmt: skip
        (info,) = kept.logs()
        return info.head.id


def test_a_log_of_the_gateway_is_replayed(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    log = recorded_by_the_gateway(store, 5)
    report = report_of(holdfast("replay", log, *SMALL, "--jobs", 1, "--store", store))
    assert report.recordings == 1
    everything = next(row for row in report.rows if row.policy == "everything")
    assert everything.requests == 6


def test_what_was_rewound_is_not_replayed(tmp_path) -> None:
    store = tmp_path / "traffic.db"
    log = recorded_by_the_gateway(store, 3)
    with SqliteStore(store) as kept:
        opened = Log.open(kept, log)
        before = len(opened.entries())
        with (
            serving(Script(parts=(Text("Again."),))) as server,
            gateway_before(server.openai_url, kept) as url,
        ):
            messages = [{"role": "user", "content": "Find where the total is computed."}]
            body = {"model": "m", "messages": messages, "stream": True}
            ask(url, body)
        assert len(opened.entries()) > before
    report = report_of(holdfast("replay", log, *SMALL, "--jobs", 1, "--store", store))
    assert next(row for row in report.rows if row.policy == "everything").requests == 1


@pytest.mark.parametrize("verb", ["replay", "fit"])
def test_a_name_that_is_neither_a_file_nor_a_log_is_refused(verb, recording, tmp_path) -> None:
    store = tmp_path / "kept.db"
    log = imported(recording, store)
    for name in (tmp_path / "missing.jsonl", "l0123456789ab", "x" * 5000):
        done = holdfast(verb, recording, name, "--store", store)
        assert done.code == 2
        assert "is neither a file nor the id of a log" in done.err
        assert "hint: check the path" in done.err
    done = holdfast(verb, log, "--from", "codex", "--store", store)
    assert done.code == 2
    assert "`--id` and `--from` apply to files" in done.err
