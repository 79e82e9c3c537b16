"""`holdfast mcp`: a real client of the SDK, and a real process that it starts."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from command_line import command, holdfast, json_file, lines_file, neutral, work

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from holdfast.cli.mcp_tools import MOST_LOGS, answer_call
from holdfast.events import UserSaid
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import MemoryStore, ReadOnlyStore, SqliteStore

PARSER = "the parser fails\non an empty file\nwith IndexError"
PRINTER = "the printer is on fire"
SECRET = "ghp_" + "R4nd0mT0k3nV4lu3xYzAbCdEfGhIjKlMnOpQ"

Answer = tuple[str, bool]
Ask = Callable[..., Coroutine[Any, Any, Answer]]


def fill(store: Path) -> None:
    """Two logs; no search has indexed their texts yet."""
    with SqliteStore(store) as opened:
        for id_, title, text, at in (
            ("log-parser", "Fix the parser", PARSER, 1000.0),
            ("log-printer", "Put it out", PRINTER, 2000.0),
        ):
            log = Log.create(opened, id=id_, title=title, source="claude-code", at=at)
            log.append(UserSaid((Text(text),)), at=at)


def served(*args: object, scenario: Callable[[Any, Ask], Coroutine[Any, Any, None]], errors: Path) -> str:
    """Run a scenario with a client whose server is `holdfast mcp`; what the server wrote to stderr."""

    async def connected() -> None:
        program, *rest = command("mcp", *args)
        with errors.open("w") as stderr:
            transport = stdio_client(StdioServerParameters(command=program, args=rest), errlog=stderr)
            async with Client(transport) as client:

                async def ask(tool: str, **arguments: Any) -> Answer:
                    result = await client.call_tool(tool, arguments)
                    return "".join(part.text for part in result.content), bool(result.is_error)

                await scenario(client, ask)

    asyncio.run(asyncio.wait_for(connected(), 60))
    return errors.read_text()


# Over the protocol


@pytest.mark.slow
def test_a_client_lists_searches_and_reads_a_store(store: Path, tmp_path: Path) -> None:
    fill(store)
    file = sha256(store.read_bytes()).hexdigest(), store.stat().st_mtime_ns

    async def scenario(client: Any, ask: Ask) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["Recall", "ListLogs"]
        assert all(tool.annotations.read_only_hint for tool in tools)
        assert "log" in tools[0].input_schema["properties"]

        listed, _ = await ask("ListLogs")
        assert listed.split("\n") == [
            "[2 logs of 2, newest first]",
            "log-printer · claude-code · 2 entries · 1970-01-01 00:33 UTC · Put it out",
            "log-parser · claude-code · 2 entries · 1970-01-01 00:16 UTC · Fix the parser",
        ]
        found, is_error = await ask("Recall", query="IndexError")
        assert not is_error
        assert text_id(PARSER) in found
        assert "of log log-parser" in found
        id_ = text_id(PARSER)
        assert await ask("Recall", id=id_) == (f"[recall {id_} lines 1-3 of 3]\n{PARSER}", False)
        part, _ = await ask("Recall", id=id_, lines="2")
        assert "on an empty file" in part
        assert "IndexError" not in part

        for wrong in ({"id": "a000000000000"}, {"id": 3.5}, {"lines": "9-3", "id": id_}, {"colour": "red"}):
            said, is_error = await ask("Recall", **wrong)
            assert is_error, said
        said, is_error = await ask("Delete", log="log-parser")
        assert is_error
        assert "no tool `Delete`" in said
        assert (await ask("Recall", query="fire"))[0].count(PRINTER) == 1  # it still answers

    # The SDK's client passes few variables on, and HOLDFAST_STORE is not one of them.
    said = served("--store", store, scenario=scenario, errors=tmp_path / "stderr")
    assert "note: serving 2 logs" in said
    assert (sha256(store.read_bytes()).hexdigest(), store.stat().st_mtime_ns) == file


@pytest.mark.slow
def test_a_folder_of_recordings_is_served_without_its_secrets(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    (folder / "deep").mkdir(parents=True)
    json_file(folder / "work.json", work(3, 5))
    told = [{"role": "user", "content": f"the token is {SECRET} and no other"}]
    lines_file(folder / "deep" / "two.jsonl", [neutral("one", told), neutral("two", work(2, 3))])
    json_file(folder / "settings.json", {"theme": "dark"})
    (folder / "notes.txt").write_text("not a recording")

    async def scenario(_: Any, ask: Ask) -> None:
        listed, _ = await ask("ListLogs")
        assert listed.startswith("[3 logs of 3")
        found, is_error = await ask("Recall", query="token other")
        assert not is_error
        assert "the token is" in found
        assert SECRET not in found
        assert (await ask("Recall", query=SECRET))[0].count(SECRET) == 1  # only the query itself
        assert "def name_3_4()" in (await ask("Recall", query="name_3_4"))[0]

    said = served(folder, scenario=scenario, errors=tmp_path / "stderr")
    assert "note: 1 file could not be read as a recording: settings.json" in said
    assert SECRET not in said
    assert not store.exists()


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def started(*args: object) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command("mcp", *args), stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["closed stdin", "ctrl-c"])
def test_it_ends_with_exit_code_0(store: Path, ending: str) -> None:
    fill(store)
    with started() as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(b"this is not JSON\n" + json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline())]
        while "result" not in answers[-1]:
            answers.append(json.loads(server.stdout.readline()))
        assert answers[-1]["result"]["serverInfo"]["name"] == "holdfast"
        if ending == "ctrl-c":
            server.send_signal(signal.SIGINT)
        else:
            server.stdin.close()
        assert server.wait(timeout=30) == 0
        assert b"Traceback" not in server.stderr.read()


@pytest.mark.slow
def test_a_client_that_goes_away_is_no_error(store: Path) -> None:
    fill(store)
    with started() as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.close()
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.close()
        assert server.wait(timeout=30) == 0
        assert server.stderr.read().decode().startswith("note: serving 2 logs")


# What the tools answer


@pytest.fixture
def logs(store: Path) -> Iterator[ReadOnlyStore]:
    fill(store)
    with ReadOnlyStore(store) as opened:
        yield opened


def test_a_search_may_be_bound_to_one_log(logs: ReadOnlyStore) -> None:
    everywhere, _ = answer_call(logs, "Recall", {"query": "the"})
    assert "2 texts" in everywhere
    in_one, _ = answer_call(logs, "Recall", {"query": "the", "log": "log-pri"})
    assert PRINTER in in_one
    assert "parser" not in in_one


def test_a_log_alone_gives_its_contents(logs: ReadOnlyStore) -> None:
    text, is_error = answer_call(logs, "Recall", {"log": "log-parser"})
    assert not is_error
    assert "[log log-parser]" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("Recall", {}, "Recall needs an id or a query"),
        ("Recall", {"query": "x", "log": "log-nowhere"}, "ListLogs lists the ids"),
        ("Recall", {"query": "x", "log": 7}, "`log` must be a string"),
        ("Recall", {"query": "x", "log": text_id(PARSER)}, "is the id of a text, not of a log"),
        ("Recall", {"id": text_id(PARSER), "grep": "("}, "is not a regular expression"),
        ("Recall", {"id": ["a"]}, "`id` must be a string"),
        ("ListLogs", {"limit": 0}, f"`limit` must be a number from 1 to {MOST_LOGS}"),
        ("ListLogs", {"limit": True}, "`limit` must be"),
        ("ListLogs", {"limit": "many"}, "`limit` must be"),
        ("ListLogs", {"query": 1}, "`query` must be a string"),
        ("ListLogs", {"colour": "red"}, "`colour` is not an argument of ListLogs"),
        ("Listlogs", {}, "did you mean `ListLogs`?"),
    ],
)
def test_a_wrong_call_is_answered_with_a_sentence(
    logs: ReadOnlyStore, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    said, is_error = answer_call(logs, tool, arguments)
    assert is_error
    assert sentence in said


def test_logs_are_listed_by_words_and_up_to_a_limit(logs: ReadOnlyStore) -> None:
    found, _ = answer_call(logs, "ListLogs", {"query": "PARSER claude"})
    assert found.startswith("[1 log of 2")
    assert "log-parser" in found
    newest, _ = answer_call(logs, "ListLogs", {"limit": 1})
    assert newest.startswith("[2 logs of 2, newest first; the newest 1 are shown]\nlog-printer")
    assert answer_call(logs, "ListLogs", {"query": "zebra"}) == ("[no log of 2 has these words]", False)
    assert answer_call(MemoryStore(), "ListLogs", {}) == ("[there are no logs]", False)


def test_a_title_stays_on_its_line_whatever_it_holds() -> None:
    store = MemoryStore()
    Log.create(store, title="one\n[log two]\x1b[2J", at=1e300)
    text, _ = answer_call(store, "ListLogs", {})
    assert len(text.split("\n")) == 2
    assert "\x1b" not in text


# What a person sees


@pytest.mark.slow
def test_mistakes_are_said_before_anything_is_served(store: Path, tmp_path: Path) -> None:
    assert holdfast("mcp").code == 3
    both = holdfast("mcp", "--store", store, "x.json")
    assert (both.code, both.out) == (2, b"")
    assert both.err.startswith("error: `--store` and recordings do not go together\nhint: ")
    assert "does not exist" in holdfast("mcp", tmp_path / "none.json").err
    (tmp_path / "folder").mkdir()
    nothing = holdfast("mcp", tmp_path / "folder")
    assert nothing.code == 2
    assert "there is no recording in" in nothing.err


def test_without_the_sdk_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = holdfast("mcp")
    assert (done.code, done.out) == (2, b"")
    assert done.err == (
        "error: `holdfast mcp` needs the MCP SDK, which is not installed\n"
        "hint: run `pip install '.[mcp]'` in a checkout of Holdfast\n"
    )


def test_help_does_not_load_the_sdk() -> None:
    code = (
        "import sys; from holdfast.cli.app import run; run(['mcp', '--help']); run(['--help'])\n"
        "assert not {'mcp', 'mcp_types', 'pydantic'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Serve logs and recordings" in done.stdout
