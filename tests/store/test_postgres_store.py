"""The store in PostgreSQL: lost connections, several writers, owners, migrations, TLS, and what is refused."""

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from holdfast.errors import NotFound, StoreError
from holdfast.events import Noted, ToolReturned, UserSaid
from holdfast.log import Log, export_log, import_log
from holdfast.messages import Text
from holdfast.recall import answer_recall
from holdfast.session import Session
from holdfast.store import SqliteStore, Store, open_read_only, open_store, verify
from holdfast.store.postgres import database
from holdfast.store.postgres import store as postgres_store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store_places import parse_place
from support.cutting_proxy import CuttingProxy
from support.postgres import PostgresServer
from support.waiting import LONGEST, wait_until

WRITER = Path(__file__).with_name("writer.py")
INSIDE = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"


@pytest.fixture
def base(postgres: PostgresServer) -> str:
    return postgres.make_database()


@pytest.fixture
def url(postgres: PostgresServer, base: str) -> str:
    return postgres.url(base)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(parse_place(url)) as opened:
        yield opened


def texts_of(log: Log) -> list[str]:
    return [entry.event.text for entry in log.entries() if isinstance(entry.event, Noted)]


def holds(postgres: PostgresServer, base: str, table: str) -> psycopg.Connection[object]:
    """A connection that keeps everybody else out of a table until it is closed."""
    held = psycopg.connect(postgres.url(base))
    held.execute(f"LOCK TABLE holdfast_postgres.{table} IN ACCESS EXCLUSIVE MODE")
    return held


def test_what_was_written_is_there_after_reopening(url: str) -> None:
    with open_store(parse_place(url)) as store:
        log = Log.create(store, id="one", title="a\0b", redact=str)
        log.append(ToolReturned("c1", "Bash", (Text("an answer\n" * 30), Text("and more\0"))))
        before = log.entries()
    with open_store(parse_place(url)) as store:
        assert Log.open(store, "one").entries() == before
        assert store.info("one").head.title == "a\0b"
        assert verify(store) == []


@pytest.mark.parametrize("table", ["entries", "artifacts"])
def test_rows_are_never_changed(postgres: PostgresServer, base: str, store: Store, table: str) -> None:
    Log.create(store, id="one", redact=str).append(UserSaid((Text("words " * 50),)))
    with pytest.raises(psycopg.errors.RaiseException, match="are never changed"):
        postgres.execute(f"UPDATE holdfast_postgres.{table} SET id = 'x'", database=base)


def test_damage_is_named(postgres: PostgresServer, base: str, store: Store) -> None:
    log = Log.create(store, id="one", redact=str)
    log.append(UserSaid((Text("words " * 50),)))
    postgres.execute("ALTER TABLE holdfast_postgres.artifacts DISABLE TRIGGER ALL", database=base)
    postgres.execute("UPDATE holdfast_postgres.artifacts SET text = 'other'", database=base)
    assert ["is not what was written" in one.what for one in verify(store)] == [True]


@pytest.mark.parametrize("table", ["entries", "refs", "words"])
def test_an_append_whose_connection_is_killed_is_whole_or_not_there_and_goes_on(
    postgres: PostgresServer, base: str, url: str, store: Store, table: str
) -> None:
    log = Log.create(store, id="one", redact=str)
    done = threading.Event()

    def append() -> None:
        log.append_all([Noted("n", f"{number} " + "words " * 60) for number in range(3)])
        done.set()

    with holds(postgres, base, table):
        thread = threading.Thread(target=append)
        thread.start()
        wait_until(lambda: postgres.execute(INSIDE, [base]))
        (pid,) = postgres.execute(INSIDE, [base])[0]
        postgres.execute("SELECT pg_terminate_backend(%s)", [pid])
        wait_until(lambda: postgres.execute(INSIDE, [base]) not in ([], [(pid,)]))
        assert not done.is_set()
    thread.join(60)
    assert done.is_set()
    with open_store(parse_place(url)) as other:
        assert [text[:2] for text in texts_of(Log.open(other, "one"))] == ["0 ", "1 ", "2 "]
        assert verify(other) == []


def test_a_killed_append_that_is_not_done_again_leaves_nothing(
    postgres: PostgresServer, base: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.create(store, id="one", redact=str)
    monkeypatch.setattr(postgres_store, "RECONNECT_SECONDS", -1.0)
    failed: list[StoreError] = []

    def append() -> None:
        try:
            log.append(Noted("n", "never stored " * 40))
        except StoreError as error:
            failed.append(error)

    with holds(postgres, base, "refs"):
        thread = threading.Thread(target=append)
        thread.start()
        wait_until(lambda: postgres.execute(INSIDE, [base]))
        postgres.execute("SELECT pg_terminate_backend(pid) FROM (" + INSIDE + ") w", [base])
        thread.join(60)
    assert "cannot be reached" in failed[0].message
    assert store.info("one").entries == 1
    assert store.search("stored") == ()
    for table in ("artifacts", "words"):
        assert postgres.execute(f"SELECT count(*) FROM holdfast_postgres.{table}", database=base) == [(0,)]
    log.append(Noted("n", "and on"))
    assert texts_of(log) == ["and on"]


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[CuttingProxy]:
    between = CuttingProxy(postgres.port)
    yield between
    between.close()


def test_what_was_committed_before_the_connection_broke_is_not_stored_twice(
    postgres: PostgresServer, base: str, proxy: CuttingProxy
) -> None:
    direct = postgres.tcp_url(base)
    with open_store(parse_place(direct.replace(str(postgres.port), str(proxy.port)))) as store:
        proxy.cut_next_commit()
        log = Log.create(store, id="one", redact=str)
        proxy.cut_next_commit()
        entry = log.append(Noted("n", "once"))
        assert texts_of(log) == ["once"]
        assert [one.id for one in log.entries()][-1] == entry.id
        Log.create(store, id="two", redact=str)
        proxy.cut_next_commit()
        store.delete("two")
        assert [info.head.id for info in store.logs()] == ["one"]
    assert proxy.cuts >= 3


@pytest.mark.slow
def test_a_server_that_restarts_is_waited_for(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A loaded machine may take longer to start one.
    monkeypatch.setattr(postgres_store, "RECONNECT_SECONDS", LONGEST)
    server = PostgresServer("fsync=off")
    try:
        with open_store(parse_place(server.url(server.make_database()))) as store:
            log = Log.create(store, id="one", redact=str)
            server.stop()
            threading.Thread(target=server.start).start()
            log.append(Noted("n", "after the restart"))
            assert texts_of(log) == ["after the restart"]
            wait_until(lambda: server.process.poll() is None)
    finally:
        server.close()


@pytest.mark.slow
def test_eight_writers_on_one_log_neither_lose_nor_interleave(url: str, tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(8)]
    told = [tmp_path / f"{name}.told" for name in names]
    running = [
        subprocess.Popen([sys.executable, str(WRITER), url, "log", name, "15", "3", str(file)])
        for name, file in zip(names, told, strict=True)
    ]
    assert [one.wait(300) for one in running] == [0] * 8
    with open_store(parse_place(url)) as store:
        entries = Log.open(store, "log").entries()
        assert verify(store) == []
    assert [entry.seq for entry in entries] == list(range(1, 8 * 15 * 3 + 2))
    origins = [_origin(entry.event) for entry in entries[1:]]
    for start in range(0, len(origins), 3):
        name, group, _ = origins[start]
        assert origins[start : start + 3] == [(name, group, member) for member in range(3)]
    assert Counter(name for name, _, _ in origins) == dict.fromkeys(names, 45)
    for line in (line for file in told for line in file.read_text().splitlines()):
        seq, name, group = line.split()
        assert origins[int(seq) - 2][:2] == (name, int(group))


def _origin(event: object) -> tuple[str, int, int]:
    assert isinstance(event, Noted | ToolReturned)
    text = event.text if isinstance(event, Noted) else event.parts[0].text  # type: ignore[union-attr]
    name, group, member = text.split("\n")[0].split()
    return name, int(group), int(member)


def test_a_text_that_is_being_referred_to_is_not_deleted_with_its_log(
    postgres: PostgresServer, base: str, url: str, store: Store
) -> None:
    said = Noted("n", "in both " * 60)
    Log.create(store, id="one", redact=str).append(said)
    other = Log.create(store, id="two", redact=str)
    with psycopg.connect(postgres.url(base)) as held:
        # References can be read, and not written: the append has seen that the text is there already.
        held.execute("LOCK TABLE holdfast_postgres.refs IN SHARE MODE")
        threads = [threading.Thread(target=other.append, args=[said])]
        threads += [threading.Thread(target=store.delete, args=["one"])]
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda many=number: len(postgres.execute(INSIDE, [base])) == many)
    for thread in threads:
        thread.join(60)
    assert [info.head.id for info in store.logs()] == ["two"]
    assert verify(store) == []
    assert texts_of(other) == [said.text]


@pytest.mark.slow
def test_texts_that_logs_share_stay_while_others_are_deleted(url: str, store: Store) -> None:
    """Each thread appends the same texts in an order of its own, and deletes its older logs meanwhile."""
    shared = [Noted("n", f"shared {number} " + "by all " * 60) for number in range(6)]
    failures: list[BaseException] = []

    def work(chance: random.Random, name: str) -> None:
        try:
            with open_store(parse_place(url)) as own:
                for number in range(25):
                    log = Log.create(own, id=f"{name}-{number}", redact=str)
                    log.append_all(chance.sample(shared, len(shared)))
                    if number:
                        own.delete(f"{name}-{number - 1}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(random.Random(n), f"t{n}")) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(info.head.id for info in store.logs()) == [f"t{n}-24" for n in range(4)]
    assert verify(store) == []
    assert len(store.search("shared", limit=50)) == len(shared)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed() -> None:
    """`kill -9` for the server, again and again, during 200 appends."""
    server = PostgresServer()
    try:
        place = parse_place(server.url(server.make_database()))
        acknowledged: list[tuple[int, str]] = []
        failures: list[str] = []
        with open_store(place) as store:
            log = Log.create(store, id="one", redact=str)

            def work() -> None:
                for number in range(200):
                    with suppress(StoreError):
                        entry = log.append(Noted("n", f"{number} " + "words of some length " * 20))
                        acknowledged.append((entry.seq, entry.id))
                        continue
                    failures.append(str(number))

            thread = threading.Thread(target=work)
            thread.start()
            for kills in range(4):
                wait_until(lambda many=kills: len(acknowledged) > 10 + 45 * many or not thread.is_alive())
                server.kill()
                server.start()
            thread.join(300)
            assert not thread.is_alive()
        with open_store(place) as store:
            entries = Log.open(store, "one").entries()
            assert verify(store) == []
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert [told for told in acknowledged if entries[told[0] - 1].id != told[1]] == []
        assert len(acknowledged) + len(failures) == 200
        # An append whose fate its caller does not know is there once or not at all; all others are there once.
        stored = Counter(text.split()[0] for text in texts_of_entries(entries))
        assert max(stored.values()) == 1
        assert set(map(str, range(200))) - stored.keys() <= set(failures)
    finally:
        server.close()


def texts_of_entries(entries: list[object]) -> list[str]:
    return [entry.event.text for entry in entries if isinstance(entry.event, Noted)]  # type: ignore[attr-defined]


def test_logs_move_in_both_directions_with_equal_bytes(url: str, store: Store, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "one.db") as first, SqliteStore(tmp_path / "two.db") as last:
        with Session(store=first, log="work", budget="8k") as session:
            for number in range(6):
                session.append({"role": "user", "content": f"Say {number}."})
                session.append({"role": "assistant", "content": f"多行 {number} " + "words\0 " * 60})
            lines = list(export_log(session.log))
            import_log(store, lines)
            moved = list(export_log(Log.open(store, "work")))
            assert moved == lines
            import_log(last, moved)
            assert list(export_log(Log.open(last, "work"))) == lines
        with Session.resume(url, "work") as here, Session.resume(tmp_path / "two.db", "work") as there:
            assert here.pack().messages == there.pack().messages


def test_two_users_do_not_see_each_others_logs(postgres: PostgresServer) -> None:
    ann, bob = postgres.make_user(), postgres.make_user()
    base = postgres.make_database(owner=ann)
    postgres.execute(f"GRANT CREATE ON DATABASE {base} TO {bob}")
    with (
        open_store(parse_place(postgres.tcp_url(base, ann))) as hers,
        open_store(parse_place(postgres.tcp_url(base, bob))) as his,
    ):
        log = Log.create(hers, id="log-of-ann", redact=str)
        entry = log.append(UserSaid((Text("her secret plan " * 20),)))
        assert hers.search("secret plan")
        assert his.logs() == ()
        assert his.search("secret plan") == ()
        for id_ in ("log-of-ann", entry.id, hers.search("plan")[0].artifact):
            with pytest.raises(NotFound):
                his.resolve(id_)
            assert answer_recall(his, {"id": id_})[1]
            assert "secret plan" in answer_recall(hers, {"id": id_})[0]
        with pytest.raises(NotFound):
            his.text(hers.search("plan")[0].artifact)
        # The same text of two users is stored twice: that it is there tells nobody anything.
        Log.create(his, id="log-of-ann", redact=str).append(UserSaid((Text("her secret plan " * 20),)))
        assert len(his.search("plan")) == len(hers.search("plan")) == 1
    with psycopg.connect(postgres.tcp_url(base, bob)) as db, pytest.raises(psycopg.Error, match="denied"):
        db.execute(f"SELECT * FROM holdfast_{ann}.entries")
    with pytest.raises(StoreError, match=r"cannot be reached: .*role"):
        open_store(parse_place(f"{postgres.tcp_url(base, bob)}?options=-c%20role%3D{ann}"))


def test_members_of_a_role_share_its_store(postgres: PostgresServer) -> None:
    team, ann, bob = postgres.make_user(), postgres.make_user(), postgres.make_user()
    postgres.execute(f"GRANT {team} TO {ann}, {bob}")
    base = postgres.make_database(owner=team)
    as_team = f"?options=-c%20role%3D{team}"
    with open_store(parse_place(postgres.tcp_url(base, ann) + as_team)) as hers:
        Log.create(hers, id="shared", redact=str)
    with open_store(parse_place(postgres.tcp_url(base, bob) + as_team)) as his:
        assert [info.head.id for info in his.logs()] == ["shared"]


def test_a_user_without_rights_is_told_what_to_ask_for(postgres: PostgresServer, base: str) -> None:
    user = postgres.make_user()
    with pytest.raises(StoreError, match="permission denied for database") as caught:
        open_store(parse_place(postgres.tcp_url(base, user)))
    assert "GRANT CREATE ON DATABASE" in caught.value.hint


def test_a_schema_that_somebody_else_made_for_a_user_is_not_used(postgres: PostgresServer) -> None:
    ann, bob = postgres.make_user(), postgres.make_user()
    base = postgres.make_database(owner=ann)
    with psycopg.connect(postgres.tcp_url(base, ann)) as db:
        db.execute(f"CREATE SCHEMA holdfast_{bob}")
    with pytest.raises(StoreError, match=f"belongs to `{ann}`"):
        open_store(parse_place(postgres.tcp_url(base, bob)))


def tables(postgres: PostgresServer, base: str) -> list[object]:
    query = "SELECT relname, relnamespace::regnamespace::text FROM pg_class WHERE oid >= 16384 ORDER BY oid"
    return postgres.execute(query, database=base)


@pytest.mark.parametrize("schema", ["public", "holdfast_postgres"])
def test_a_database_of_another_program_is_left_untouched(
    postgres: PostgresServer, base: str, url: str, schema: str
) -> None:
    postgres.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}", database=base)
    postgres.execute(f"CREATE TABLE {schema}.invoices (id integer)", database=base)
    before = tables(postgres, base)
    with pytest.raises(StoreError, match="tables of another program") as caught:
        open_store(parse_place(url))
    assert "createdb" in caught.value.hint
    assert tables(postgres, base) == before


def test_a_newer_format_is_refused_and_left_untouched(postgres: PostgresServer, base: str, url: str) -> None:
    open_store(parse_place(url)).close()
    postgres.execute("UPDATE holdfast_postgres.holdfast_format SET version = 99", database=base)
    before = tables(postgres, base)
    for opened in (open_store, open_read_only):
        with pytest.raises(
            StoreError, match="has format 99, and this Holdfast knows formats up to 1"
        ) as caught:
            opened(parse_place(url))
        assert "upgrade" in caught.value.hint
    assert tables(postgres, base) == before


def test_an_older_format_is_brought_up_to_date_once(
    postgres: PostgresServer, base: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(parse_place(url)) as store:
        Log.create(store, id="one", redact=str)
    (tmp_path / "version_2.sql").write_text("ALTER TABLE logs ADD COLUMN added integer DEFAULT 7;")
    monkeypatch.setattr(database, "FORMAT_VERSION", 2)
    monkeypatch.setattr(database, "files", lambda _: tmp_path)
    for _ in range(2):
        with open_store(parse_place(url)) as store:
            assert [info.head.id for info in store.logs()] == ["one"]
    assert postgres.execute("SELECT added FROM holdfast_postgres.logs", database=base) == [(7,)]
    assert postgres.execute("SELECT version FROM holdfast_postgres.holdfast_format", database=base) == [(2,)]
    monkeypatch.setattr(database, "FORMAT_VERSION", 3)
    (tmp_path / "version_3.sql").write_text("ALTER TABLE logs ADD COLUMN more integer; SELECT 1/0;")
    with pytest.raises(StoreError, match="division by zero"):
        open_store(parse_place(url))
    assert postgres.execute("SELECT version FROM holdfast_postgres.holdfast_format", database=base) == [(2,)]


def test_many_that_open_a_new_store_at_once_make_it_once(url: str) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            open_store(parse_place(url)).close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_store_that_is_only_read_refuses_every_write(url: str, store: Store) -> None:
    Log.create(store, id="one", redact=str).append(UserSaid((Text("words to find " * 20),)))
    with open_read_only(parse_place(url)) as reader:
        before = reader.data_version()
        assert reader.search("find")
        assert reader.data_version() == before
        for refused in (lambda: reader.delete("one"), lambda: Log.create(reader)):
            with pytest.raises(StoreError, match="read-only"):
                refused()
        Log.open(store, "one").append(Noted("n", "new"))
        assert reader.data_version() != before
        assert reader.info("one").entries == 3


def test_reading_makes_no_store(postgres: PostgresServer, base: str, url: str) -> None:
    with pytest.raises(NotFound, match="there is no store at"):
        open_read_only(parse_place(url))
    assert tables(postgres, base) == []


def test_a_log_that_somebody_holds_is_named_busy(
    postgres: PostgresServer, base: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = database._SESSION.replace(f"'{database.BUSY_SECONDS}s'", "'200ms'")
    monkeypatch.setattr(database, "_SESSION", session)
    with open_store(parse_place(url)) as store:
        log = Log.create(store, id="one", redact=str)
        with psycopg.connect(postgres.url(base)) as held:
            held.execute("SELECT 1 FROM holdfast_postgres.logs FOR UPDATE")
            with pytest.raises(StoreError, match="it was busy for"):
                log.append(Noted("n", "waiting"))
        log.append(Noted("n", "not waiting"))
        assert texts_of(log) == ["not waiting"]


def test_readers_do_not_wait_for_writers_and_the_pool_has_a_limit(
    postgres: PostgresServer, base: str, store: Store
) -> None:
    log = Log.create(store, id="one", redact=str)
    found: list[int] = []
    with psycopg.connect(postgres.url(base)) as held:
        held.execute("SELECT 1 FROM holdfast_postgres.logs FOR UPDATE")
        writer = threading.Thread(target=log.append, args=[Noted("n", "waits")])
        writer.start()
        wait_until(lambda: postgres.execute(INSIDE, [base]))
        readers = [
            threading.Thread(target=lambda: found.append(len(store.read("one").rows))) for _ in range(20)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert found == [1] * 20
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'holdfast'"
        assert 2 <= postgres.execute(count, [base])[0][0] <= database.MOST_CONNECTIONS
    writer.join()
    assert store.info("one").entries == 2


def test_a_closed_store_says_so(url: str) -> None:
    store = open_store(parse_place(url))
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.logs()
    with pytest.raises(StoreError, match="is closed"):
        store.search("words")


@pytest.mark.slow
def test_tls_is_as_the_url_says(postgres: PostgresServer, base: str, tmp_path: Path) -> None:
    url = postgres.tcp_url(base)
    with pytest.raises(StoreError, match="SSL") as caught:
        open_store(parse_place(f"{url}?sslmode=require"))
    assert "not so secret" not in str(caught.value)
    server = PostgresServer("fsync=off")
    try:
        certify(server)
        base = server.make_database()
        root = f"sslrootcert={server.folder}/server.crt"
        for query, is_encrypted in (
            ("sslmode=disable", False),
            (f"sslmode=verify-full&{root}", True),
        ):
            with open_store(parse_place(f"{server.tcp_url(base)}?{query}")) as store:
                assert isinstance(store, PostgresStore)
                with store._database.connection() as db:
                    assert db.info.pgconn.ssl_in_use is is_encrypted
        with pytest.raises(StoreError, match="certificate"):
            open_store(parse_place(f"{server.tcp_url(base)}?sslmode=verify-full&sslrootcert=/nonexistent"))
    finally:
        server.close()


def certify(server: PostgresServer) -> None:
    """Start a server again that has a certificate for its address."""
    server.stop()
    key, crt = server.folder / "server.key", server.folder / "server.crt"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        str(key),
        "-out",
        str(crt),
    ]
    words += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run(words, check=True, capture_output=True)
    server.own(key)
    server.settings += (f"ssl_key_file={key}", f"ssl_cert_file={crt}", "ssl=on")
    server.start()
