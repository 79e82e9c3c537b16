"""What the client runs make of a run: they tell a right one from a wrong one, and count what a client received."""

import subprocess
import sys

import httpx2
import pytest
from clients.client_programs import CLIENTS, ClientProgram, Start
from clients.installed import INSTALLED, PACKAGES, Package
from clients.provider import Provider, serving
from clients.run import _row, differences, table
from clients.runs import CannotRun, left_files, mode_options, run_client
from clients.scenario import Scenario
from clients.scenarios import long, long_result, make_folder, needles, short, submitting
from clients.tap import Tap

AGENT = """\
import json, os, subprocess, sys, urllib.error, urllib.request

tools = [{"type": "function", "function": {"name": "bash", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}}}}}]
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    body = json.dumps({"model": "gpt-6-sol", "messages": messages, "tools": tools}).encode()
    try:
        reply = urllib.request.urlopen(urllib.request.Request(os.environ["AGENT_URL"] + "/chat/completions", body))
    except urllib.error.HTTPError as error:
        sys.exit(error.read().decode())
    message = json.load(reply)["choices"][0]["message"]
    messages.append({key: value for key, value in message.items() if key in ("role", "content", "tool_calls")})
    for call in message.get("tool_calls", ()):
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        hidden = os.environ.get("AGENT_HIDES") and "port" in done.stdout
        output = "[hidden]" if hidden else done.stdout
        if os.environ.get("AGENT_FORGETS"):
            continue
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
    if not message.get("tool_calls"):
        print(message["content"])
        break
"""


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """A client of forty lines, with the variables that it is started with."""
    program = tmp_path / "tiny"
    program.mkdir()
    script = program / "agent"
    script.write_text(f"#!{sys.executable}\n{AGENT}")
    script.chmod(0o755)
    monkeypatch.setattr("clients.installed.INSTALLED", tmp_path)
    monkeypatch.setitem(PACKAGES, "tiny", Package("tiny", "1.0", (), "agent"))

    def with_variables(**variables: str) -> ClientProgram:
        def start(place):
            return Start([place.task], {"AGENT_URL": f"{place.url}/v1", **variables})

        return ClientProgram("tiny", "chat", "gpt-6-sol", start, lambda ended: ended.printed.strip())

    return with_variables


def test_a_run_through_the_gateway_is_equal_to_the_direct_one(agent):
    direct = run_client(agent(), short(), "direct", budget="24k")
    watched = run_client(agent(), short(), "watch", budget="24k")
    assert direct.answer.startswith("The port is 8461")
    assert (direct.exit_code, direct.rules, direct.received, direct.extending) == (0, [], [], (7, 7))
    assert differences(watched, direct) == ""
    assert [note.prompt for note in watched.notes] == [note.prompt for note in direct.notes]
    rows = [_row(direct, "", direct), _row(watched, "", direct)]
    assert [row.equal for row in rows] == [None, True]
    assert all(row.is_good and row.first_byte_ms > 0 for row in rows)
    lines = table(rows, markdown=True).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| tiny | 1.0 | watch | equal | 0 | 0 | 0 | 7 of 7 | 8 |" in lines[3]


def test_what_was_hidden_from_the_model_makes_a_run_differ(agent):
    direct = run_client(agent(), short(), "direct", budget="24k")
    hidden = run_client(agent(AGENT_HIDES="1"), short(), "direct", budget="24k")
    found = differences(hidden, direct)
    assert "NOT-SHOWN" in found
    assert "result.txt differs" in found
    assert not _row(hidden, found, direct).is_good


def test_broken_rules_and_refusals_make_a_run_bad(agent):
    run = run_client(agent(AGENT_FORGETS="1"), short(), "direct", budget="24k")
    assert run.rules == ["C01"]
    assert len(run.received) == len(run.refused) == 1
    row = _row(run, "", None)
    assert not row.is_good
    assert "C01 x1" in table([row], markdown=False)
    small = run_client(agent(), short(), "direct", budget="24k", window=4000)
    assert (small.rules, len(small.refused), len(small.received)) == ([], 1, 1)
    assert not _row(small, "", None).is_good


def test_a_client_that_does_not_end_is_stopped(agent, tmp_path):
    (tmp_path / "tiny" / "agent").write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(CannotRun, match="no end after"):
        run_client(agent(), short(), "direct", budget="24k", limit=0.5)


def test_the_tap_passes_on_and_counts_refusals():
    provider = Provider(Scenario("Wait.", (), "Done."))
    with serving(provider) as url:
        tap = Tap(url)
        with serving(tap) as tapped:
            body = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "Wait."}]}
            reply = httpx2.post(f"{tapped}/v1/chat/completions", json=body).json()
            assert reply["choices"][0]["message"]["content"] == "Done."
            assert httpx2.post(f"{tapped}/v1/chat/completions", json={"messages": []}).status_code == 400
            assert httpx2.get(f"{tapped}/v1/models").status_code == 200
    assert tap.statuses == {200: 1, 400: 1}
    assert len(tap.refusals) == 1
    assert len(tap.waits) == 2
    assert min(tap.waits) > 0


def test_commands_of_the_long_session_lead_to_its_result(tmp_path):
    make_folder(tmp_path / "work")
    scenario, noticed = long(), {}
    for number, step in enumerate(scenario.steps):
        command = scenario.text(noticed, step[0].command)
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path / "work", capture_output=True, text=True, check=True
        )
        if "needle-" in done.stdout:
            noticed[f"needle{number + 1}"] = done.stdout.split("needle-")[1][:8]
    assert list(noticed.values()) == needles()
    assert (tmp_path / "work" / "result.txt").read_text() == long_result()


def test_the_folder_is_the_same_each_time_and_its_log_is_large(tmp_path):
    for name in ("one", "two"):
        make_folder(tmp_path / name)
    files = left_files(tmp_path / "one", ())
    assert files == left_files(tmp_path / "two", ())
    assert 20_000 < (tmp_path / "one" / "app.log").stat().st_size < 30_000


def test_modes_are_options_of_the_gateway():
    assert mode_options("fold", "16k") == ["--mode", "fold", "--budget", "16k"]
    assert mode_options("safe", "16k") == ["--mode", "safe"]


def test_every_client_has_a_package_and_follows_the_scenario():
    assert {client.package.name for client in CLIENTS.values()} == set(PACKAGES)
    assert all(str(package.path).startswith(str(INSTALLED)) for package in PACKAGES.values())
    assert len(CLIENTS["mini"].adapt(short()).steps) == len(submitting(short()).steps) == 8
