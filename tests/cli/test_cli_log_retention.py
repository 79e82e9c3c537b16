"""`holdfast logs sizes`, `prune`, `vacuum`: what goes, what stays, and that nothing goes unasked."""

import re
import time
from pathlib import Path

import pytest
from command_line import holdfast, lines_file, neutral, on_terminal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.cli.log_retention import KnownLog, LogChoice, choose_logs
from holdfast.gateway.settings import REPLACEMENTS
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.store import LogInfo, SqliteStore, verify
from holdfast.store.log_file import export_lines
from holdfast.store.protocol import Artifact, EntryDraft, LogHead, LogSize, StoreSize

DAY = 86_400.0
SHARED = "a text that several logs refer to, and that is long enough to matter\n" * 40


def add(store: Path, name: str, days: float, *texts: str, source: str = "") -> None:
    """A log whose last entry is some days old."""
    at = time.time() - days * DAY
    refs = ",".join(f'"t{i}":{{"$a":"{text_id(text)}"}}' for i, text in enumerate(texts))
    body = f'{{"type":"noted","kind":"k","text":"","data":{{{refs}}}}}'.encode()
    with SqliteStore(store) as opened:
        texts_of_it = tuple(Artifact(text_id(text), text) for text in texts)
        opened.create(LogHead(name, source=source, at=at), [EntryDraft(body, texts_of_it, at=at)])


@pytest.fixture
def logs(store: Path) -> Path:
    add(store, "log-oldest", 100, SHARED, "only the oldest", source="claude-code")
    add(store, "log-middle", 50, SHARED, source="codex")
    add(store, "log-newest", 0, SHARED)
    return store


def ids() -> list[str]:
    return [info["id"] for info in holdfast("logs", "--json").json]


def test_sizes_list_the_largest_first_and_what_each_frees_alone(logs: Path) -> None:
    done = holdfast("logs", "sizes")
    assert done.code == 0
    assert done.text.index("log-oldest") < done.text.index("log-middle")
    assert re.fullmatch(r"note: 3 logs; the store takes [\d.]+ kB, .* of it unused\n", done.err)
    rows = holdfast("logs", "sizes", "--json").json
    assert [row["own"] < row["bytes"] for row in rows["logs"]] == [True] * 3
    assert rows["disk"] == logs.stat().st_size


def test_by_age(logs: Path) -> None:
    assert holdfast("logs", "prune", "--older-than", "60d", "--yes").code == 0
    assert ids() == ["log-middle", "log-newest"]
    assert "to delete" in holdfast("logs", "prune", "--older-than", "1w", "--dry-run").text
    assert ids() == ["log-middle", "log-newest"]
    with SqliteStore(logs) as store:
        assert store.text(text_id(SHARED)) == SHARED
        assert verify(store) == []


def test_by_source_and_id_and_what_is_kept(logs: Path) -> None:
    done = holdfast("logs", "prune", "--older-than", "30d", "--source", "codex", "--dry-run", "--json")
    assert done.json == {"deleted": False, "logs": ["log-middle"]}
    kept = holdfast("logs", "prune", "--older-than", "30d", "--keep", "log-old", "--dry-run", "--json")
    assert kept.json["logs"] == ["log-middle"]
    done = holdfast("logs", "prune", "log-new", "--yes", "--json")
    assert done.json == {"deleted": True, "logs": ["log-newest"]}
    assert ids() == ["log-oldest", "log-middle"]


def test_by_size_the_quietest_go_first(store: Path) -> None:
    for number in range(60):
        add(store, f"log-{number:02}", 60 - number, f"{number} " + " ".join(map(str, range(9_000 + number))))
    with SqliteStore(store) as opened:
        disk = opened.size().disk
    done = holdfast("logs", "prune", "--max-size", f"{disk // 2000}k", "--yes")
    assert done.code == 0
    left = ids()
    assert 10 < len(left) < 50
    assert left == sorted(left)[-len(left) :]
    with SqliteStore(store) as opened:
        size = opened.size()
        assert size.disk - size.unused <= disk * 0.55
    assert holdfast("logs", "vacuum").code == 0
    assert store.stat().st_size <= disk * 0.55


def test_what_is_at_work_and_what_the_gateway_needs_stays(logs: Path) -> None:
    add(logs, REPLACEMENTS, 200, "sent in place")
    done = holdfast("logs", "prune", "--max-size", "1k", "--yes")
    assert ids() == ["log-newest", REPLACEMENTS]
    assert "that is more than 1.0 kB" in done.err
    assert holdfast("logs", "prune", REPLACEMENTS, "--yes").code == 0
    assert ids() == ["log-newest"]


def test_nothing_goes_unasked(logs: Path) -> None:
    done = holdfast("logs", "prune")
    assert done.code == 2
    assert "nothing says which logs are to go" in done.err
    done = holdfast("logs", "prune", "--older-than", "1d")
    assert done.code == 2
    assert "add `--yes`" in done.err
    assert len(ids()) == 3
    no = on_terminal("logs", "prune", "--older-than", "1d", answer=b"n\n")
    assert no.code == 0
    assert len(ids()) == 3
    yes = on_terminal("logs", "prune", "--older-than", "1d", answer=b"y\n")
    assert yes.code == 0
    assert ids() == ["log-newest"]


@pytest.mark.parametrize(
    ("option", "value", "like"),
    [("--older-than", "90", "`90d`"), ("--older-than", "-1d", "`90d`"), ("--max-size", "2 pages", "`2GB`")],
)
def test_amounts_that_are_none(logs: Path, option: str, value: str, like: str) -> None:
    done = holdfast("logs", "prune", f"{option}={value}")
    assert done.code == 2
    assert like in done.err
    assert len(ids()) == 3


def test_without_a_store_nothing_is_made(store: Path) -> None:
    for words in (["sizes"], ["prune", "--older-than", "1d", "--yes"], ["vacuum"]):
        assert holdfast("logs", *words).code == 0
    assert not store.exists()


def test_imported_logs_without_a_time_are_of_no_age(store: Path, tmp_path: Path) -> None:
    file = lines_file(tmp_path / "a.jsonl", [neutral("a", [{"role": "user", "content": "hi"}])])
    assert holdfast("logs", "import", file).code == 0
    assert holdfast("logs", "prune", "--older-than", "1h", "--yes").code == 0
    assert len(ids()) == 1


def test_a_log_that_goes_frees_its_share_of_the_indexes_too() -> None:
    logs = [KnownLog(LogInfo(LogHead(str(n)), 1, 1.0 + n), LogSize(str(n), 100, 100, 100)) for n in range(10)]
    size = StoreSize(disk=2_100, unused=100, logs=tuple(log.size for log in logs))
    chosen = choose_logs(size, logs, LogChoice(most=1_000), now=1e9)
    assert [log.info.head.id for log in chosen] == ["0", "1", "2", "3", "4"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 99), st.lists(st.integers(0, 9), max_size=5)), min_size=1, max_size=8),
    st.integers(1, 99),
)
def test_whatever_goes_the_rest_is_whole(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[int, list[int]]], age: int
) -> None:
    path = tmp_path_factory.mktemp("logs") / "store.db"
    for number, (days, texts) in enumerate(made):
        add(path, f"log{number}", days + 0.5, *dict.fromkeys(f"text {text} " * 90 for text in texts))
    with SqliteStore(path) as store:
        names = [f"log{number}" for number, (days, _) in enumerate(made) if days + 0.5 < age]
        before = {name: b"".join(export_lines(store, name)) for name in names}
    assert holdfast("logs", "prune", "--older-than", f"{age}d", "--yes", "--store", path).code == 0
    with SqliteStore(path) as store:
        assert [info.head.id for info in store.logs()] == names
        assert {name: b"".join(export_lines(store, name)) for name in names} == before
        assert verify(store) == []
        assert [Log.open(store, name).id for name in names] == names
