"""Agents, the viewer and `wrap` on a store in PostgreSQL; what belongs to the store is in the data folder."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from command_line import command, holdfast

from holdfast.agents.options import AgentOptions
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.packing.profile import Profile
from holdfast.session import Session
from holdfast.store import open_store
from holdfast.store_places import parse_place
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.store_place import StorePlace
from support.agent_runs import call, environment, repository, says
from support.free_port import free_port
from support.pair_commands import BUILT, DESIGNED, PLAN, answering, begun, pair_folder
from support.postgres import PostgresServer
from support.provider_server import Script, serving

pytestmark = pytest.mark.slow

ASKS = """
import json, os, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}], "stream": True}
request = urllib.request.Request(os.environ["MY_URL"] + "/chat/completions", json.dumps(body).encode())
urllib.request.urlopen(request).read()
"""


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    named = postgres.tcp_url(postgres.make_database())
    monkeypatch.setenv("HOLDFAST_STORE", named)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return named


def said_in(url: str) -> list[str]:
    with open_store(parse_place(url)) as store:
        entries = [entry for info in store.logs() for entry in Log.open(store, info.head.id).entries()]
    return [joined_text(entry.event.parts) for entry in entries if isinstance(entry.event, UserSaid)]


def test_the_coding_agent_runs_and_resumes_and_its_commands_do_not_get_the_url(url, tmp_path):
    root = repository(tmp_path)
    env = {**environment(root), "HOLDFAST_STORE": url, "XDG_DATA_HOME": str(tmp_path / "data")}
    env["PGPASSWORD"] = "not so secret"
    shows = call("Bash", "b1", command="env | grep -c -e postgresql -e 'not so'; true")
    edits = call("Write", "w1", path="new.txt", content="new\n")
    with serving(says(shows), says(edits), says("Done."), says("Again.")) as server:
        words = [sys.executable, "-m", "holdfast", "run", "--sandbox", "off", "--mode", "auto"]
        words += ["--model", f"compatible/test@{server.openai_url}"]
        for more in (["-p", "Look."], ["--continue", "-p", "And now?"]):
            done = subprocess.run(
                [*words, *more], env=env, cwd=root, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            assert "secret" not in done.stdout + done.stderr
        results = [m["content"] for m in server.requests[1].json["messages"] if m["role"] == "tool"]
    assert said_in(url) == ["Look.", "And now?"]
    assert "postgresql" not in results[0]
    assert "0" in results[0].split()
    (folder,) = (tmp_path / "data/holdfast").glob("postgresql-*.snapshots")
    assert any(folder.rglob("*"))


def test_a_pair_works_and_is_resumed(url, tmp_path):
    pair_folder(tmp_path)
    with answering((PLAN, DESIGNED), BUILT) as server:
        assert holdfast(*begun(server)).code == 17
        done = holdfast("pair", "work", "--continue", "--approve", "auto", "--sandbox", "off")
    assert done.code == 0, done.err
    assert "secret" not in done.err
    with open_store(parse_place(url)) as store:
        assert len(store.logs()) == 3


def test_the_review_of_a_model_is_a_log(url, tmp_path):
    root = repository(tmp_path)
    (root / "main.py").write_text("def main():\n    print('new')\n")
    subprocess.run(["git", "-C", root, "add", "-N", "."], check=True)
    with serving(*[says("Nothing is wrong.")] * 4) as server:
        model = f"compatible/test@{server.openai_url}"
        env = {**environment(root), "HOLDFAST_STORE": url}
        words = [sys.executable, "-m", "holdfast", "review", "--model", model]
        done = subprocess.run(words, env=env, cwd=root, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    with open_store(parse_place(url)) as store:
        assert [info.head.source for info in store.logs()] == ["holdfast review"], done.stderr


def test_the_viewer_exports_a_log(url, tmp_path):
    with Session(store=url, log="work") as session:
        session.append({"role": "user", "content": "Look."}, {"role": "assistant", "content": "I did."})
    done = holdfast("view", "work", "--export", tmp_path / "view.html")
    assert done.code == 0, done.err
    assert (tmp_path / "view.html").stat().st_size > 50_000


def test_wrap_records_what_an_agent_sends(url, tmp_path):
    with serving(Script()) as server:
        words = command("wrap", "--base-url-env", "MY_URL=/v1", "--openai", server.openai_url)
        words += ["--", sys.executable, "-c", ASKS]
        done = subprocess.run(words, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "1 request passed; recorded in postgresql://postgres@127.0.0.1" in done.stderr
    assert "secret" not in done.stderr
    assert said_in(url) == ["Hi."]


def test_an_editor_lists_sessions(url, tmp_path):
    pytest.importorskip("acp", reason="the extra `acp` is not installed")
    from holdfast.agents.acp.stored_sessions import list_sessions  # noqa: PLC0415
    from holdfast.agents.sessions import begin_session  # noqa: PLC0415

    place = parse_place(url)
    options = AgentOptions(root=tmp_path, store=place)
    assert list_sessions(options, {}, None, 0, 10) == []
    with open_store(place) as store:
        log = begin_session(store, tmp_path)
        Log.open(store, log).append(UserSaid(()))
    assert [one.session_id for one in list_sessions(options, {}, None, 0, 10)] == [log]


def test_the_viewer_follows_a_store_that_is_made_later_and_grows(url):
    with closing(StorePlace(parse_place(url))) as place:
        assert (place.store(), place.state()) == (None, (0, 0))
        with Session(store=url, log="work") as session:
            session.append({"role": "user", "content": "Look."})
            begun = place.state()
            assert place.state() == begun != (0, 0)
            session.append({"role": "user", "content": "Look again."})
            assert place.state() != begun
        library = SessionLibrary([place], lambda _: None, lambda *_: Profile())
        assert library.is_live
        assert [row.id for row in library.rows()] == ["work"]


@pytest.mark.parametrize("words", [["gateway", "--port", "0"], ["wrap", "--base-url-env", "X", "--", "true"]])
def test_a_server_that_is_not_there_is_said_and_nothing_starts(words):
    place = f"postgresql://ann:not%20so%20secret@127.0.0.1:{free_port()}/work"
    done = subprocess.run(
        command(words[0], "--store", place, *words[1:]), capture_output=True, text=True, check=False
    )
    assert done.returncode == 4, done.stderr
    assert "cannot be reached" in done.stderr
    assert "hint: is the server running" in done.stderr
    assert "listening" not in done.stderr
    assert "secret" not in done.stderr
