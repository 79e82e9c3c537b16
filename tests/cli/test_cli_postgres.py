"""Commands on a store in PostgreSQL: named in every way, moved in both directions, and refused in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Outcome, holdfast, lines_file, neutral, process, work

from holdfast.agents.viewer_process import ViewerProcess
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.messages import joined_text
from holdfast.session import Session
from holdfast.store import open_store
from holdfast.store_places import parse_place
from support.free_port import free_port
from support.postgres import PostgresServer

SECRET = "not%20so%20secret"


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.tcp_url(postgres.make_database())


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return lines_file(tmp_path / "work.jsonl", [neutral("work", work(6)[1:], ts=[1.7e9] * 14)])


def refused(done: Outcome, code: int, sentence: str, hint: str) -> None:
    assert done.code == code, done
    lines = [line for line in done.err.splitlines() if line.startswith(("error: ", "hint: "))]
    assert [line.split(":")[0] for line in lines] == ["error", "hint"], done.err
    assert sentence in lines[0]
    assert hint in lines[1]
    assert "Traceback" not in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize("way", ["option", "variable", "configuration"])
def test_every_way_to_name_a_store_takes_a_url(
    url: str, recording: Path, way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    option = ["--store", url] if way == "option" else []
    monkeypatch.delenv("HOLDFAST_STORE", raising=False)
    if way == "variable":
        monkeypatch.setenv("HOLDFAST_STORE", url)
    if way == "configuration":
        own = tmp_path / "own/holdfast"
        own.mkdir(parents=True)
        (own / "holdfast.toml").write_text(f'store = "{url}"\n')
        monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
        (tmp_path / "project").mkdir()
        monkeypatch.chdir(tmp_path / "project")
    (made,) = holdfast("logs", "import", recording, *option, "--json").json
    assert [info["id"] for info in holdfast("logs", *option, "--json").json] == [made["id"]]
    assert holdfast("show", made["id"], *option).code == 0
    assert holdfast("pack", made["id"], "--budget", "4k", *option).code == 0
    assert process("replay", made["id"], "--budget", "2k", "--jobs", "2", *option).code == 0
    assert holdfast("logs", "verify", *option).code == 0
    assert holdfast("logs", "delete", made["id"], "--yes", *option).code == 0
    assert holdfast("logs", *option, "--json").json == []


def test_logs_move_in_both_directions_with_equal_bytes(url: str, recording: Path, tmp_path: Path) -> None:
    (made,) = holdfast("logs", "import", recording, "--store", tmp_path / "one.db", "--json").json
    first = holdfast("logs", "export", made["id"], "--store", tmp_path / "one.db").out
    (tmp_path / "first.jsonl").write_bytes(first)
    assert holdfast("logs", "import", tmp_path / "first.jsonl", "--store", url).code == 0
    second = holdfast("logs", "export", made["id"], "--store", url).out
    (tmp_path / "second.jsonl").write_bytes(second)
    assert holdfast("logs", "import", tmp_path / "second.jsonl", "--store", tmp_path / "two.db").code == 0
    assert holdfast("logs", "export", made["id"], "--store", tmp_path / "two.db").out == first == second


def test_recall_gives_the_same_from_both(url: str, recording: Path, tmp_path: Path) -> None:
    places = (url, tmp_path / "one.db")
    for place in places:
        holdfast("logs", "import", recording, "--store", place)
    for asked in (["--query", "def line"], ["--query", "line 3"]):
        one, two = (holdfast("recall", *asked, "--store", place) for place in places)
        assert (one.code, one.out) == (two.code, two.out)
    (log,) = holdfast("logs", "--store", url, "--json").json
    for part in (["--lines", "2-4"], ["--query", "line"]):
        one, two = (holdfast("recall", log["id"], *part, "--store", place) for place in places)
        assert (one.code, one.out) == (two.code, two.out)
        assert (one.code, one.out != b"") in ((0, True), (1, False))


def test_a_wrong_password(postgres: PostgresServer, url: str) -> None:
    done = holdfast("logs", "--store", url.replace(SECRET, "some-secret"))
    refused(done, 4, "password authentication failed", "PGPASSWORD or ~/.pgpass")


def test_no_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    refused(
        holdfast("logs", "--store", url.replace(f":{SECRET}", "")), 4, "no password supplied", "PGPASSWORD"
    )


def test_a_password_from_the_environment_of_libpq(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "not so secret")
    assert holdfast("logs", "--store", url.replace(f":{SECRET}", "")).code == 0


def test_a_server_that_is_not_there() -> None:
    done = holdfast("logs", "--store", f"postgresql://ann:{SECRET}@127.0.0.1:{free_port()}/work")
    refused(done, 4, "cannot be reached", "is the server running")


def test_a_database_that_is_not_there(url: str) -> None:
    refused(holdfast("logs", "--store", url + "x"), 4, "does not exist", "createdb")


def test_a_database_of_another_program(postgres: PostgresServer, url: str) -> None:
    base = url.rpartition("/")[2]
    postgres.execute("CREATE TABLE invoices (id integer)", database=base)
    refused(holdfast("logs", "--store", url), 4, "tables of another program", "createdb")
    tables = "SELECT relname FROM pg_class WHERE oid >= 16384"
    assert postgres.execute(tables, database=base) == [("invoices",)]


def test_a_newer_format(postgres: PostgresServer, url: str) -> None:
    assert holdfast("logs", "--store", url).code == 0
    base = url.rpartition("/")[2]
    postgres.execute("UPDATE holdfast_postgres.holdfast_format SET version = 99", database=base)
    refused(holdfast("logs", "--store", url), 4, "has format 99", "upgrade this one")


def test_another_encoding(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE narrow ENCODING 'LATIN1' TEMPLATE template0")
    refused(holdfast("logs", "--store", postgres.tcp_url("narrow")), 4, "encoding LATIN1", "--encoding=UTF8")


def test_a_url_that_cannot_be_read() -> None:
    refused(
        holdfast("logs", "--store", "postgresql://ann:s/secret@host/work"), 2, "cannot be read", "%40 for @"
    )
    refused(
        holdfast("logs", "--store", "postgresql://host/work?colour=secret"),
        2,
        "not one that libpq reads",
        "sslmode",
    )
    refused(
        holdfast("logs", "--store", "postgresql://ann:se%cret@host/work"), 2, "cannot be read", "%40 for @"
    )


@pytest.mark.slow
def test_a_server_that_goes_in_the_middle(tmp_path: Path) -> None:
    """What was stored before is there when it is back."""
    server = PostgresServer("fsync=off")
    try:
        url = server.tcp_url(server.make_database())
        script = f"""
import sys
from holdfast import Session
from holdfast.cli.app import run
with Session(store={url!r}, log="work") as session:
    session.append({{"role": "user", "content": "before"}})
    print("stored", flush=True)
    sys.stdin.readline()
    from holdfast.errors import HoldfastError
    try:
        session.append({{"role": "user", "content": "after"}})
    except HoldfastError as error:
        print(error.exit_code, error)
"""
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "stored\n"
        server.kill()
        said, _ = child.communicate("go\n", timeout=120)
        assert said.startswith("4 the store `postgresql://postgres@127.0.0.1:")
        assert "cannot be reached" in said
        assert "hint: is the server running" in said
        assert "secret" not in said
        server.start()
        with open_store(parse_place(url)) as store:
            said = [one.event for one in Log.open(store, "work").entries() if isinstance(one.event, UserSaid)]
            assert [joined_text(event.parts) for event in said] == ["before"]
    finally:
        server.close()


def test_without_the_extra(tmp_path: Path) -> None:
    script = (
        "import sys, importlib.machinery as m; sys.modules['psycopg'] = None\n"
        "from holdfast.cli.app import run; sys.exit(run(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", script, "logs", "--store", "postgresql:///work"]
    done = subprocess.run(words, capture_output=True, check=False)
    refused(Outcome(done.returncode, done.stdout, done.stderr.decode()), 2, "is not installed", ".[postgres]")


def test_the_viewer_is_told_where_by_its_environment(url: str) -> None:
    with Session(store=url, log="work") as session:
        session.append({"role": "user", "content": "Look."})
    with ViewerProcess(parse_place(url), "work") as viewer:
        assert viewer.address().startswith("http://127.0.0.1:")
        arguments = Path(f"/proc/{viewer._process.pid}/cmdline").read_bytes()
    assert b"postgresql" not in arguments


def test_an_mcp_server_reads_it_and_makes_none(url: str) -> None:
    done = process("mcp", "--store", url, input=b"")
    refused(done, 3, "there is no store at `postgresql://postgres@127", "HOLDFAST_STORE")
    open_store(parse_place(url)).close()
    done = process("mcp", "--store", url, input=b"")
    assert (done.code, "serving 0 logs" in done.err) == (0, True), done.err


def test_sizes_prune_and_vacuum(url: str, recording: Path) -> None:
    (made,) = holdfast("logs", "import", recording, "--store", url, "--json").json
    with Session(store=url, log="work") as session:
        session.append({"role": "user", "content": "Look."})
    sizes = holdfast("logs", "sizes", "--store", url, "--json")
    assert sizes.code == 0, sizes.err
    assert made["id"] in sizes.text
    pruned = holdfast("logs", "prune", "--older-than", "90d", "--yes", "--store", url)
    assert pruned.code == 0, pruned.err
    assert [info["id"] for info in holdfast("logs", "--store", url, "--json").json] == ["work"]
    done = holdfast("logs", "vacuum", "--store", url, "--json")
    assert done.code == 0, done.err
    assert holdfast("logs", "verify", "--store", url).code == 0
