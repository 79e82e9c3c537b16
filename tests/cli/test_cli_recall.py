"""`holdfast recall`: the text, byte for byte, or the part that was asked for."""

from pathlib import Path

import pytest
from command_line import holdfast, json_file, on_terminal, process, work
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.events import UserSaid
from holdfast.ids import text_id
from holdfast.log import Log
from holdfast.messages import Text
from holdfast.store import SqliteStore

TEXT = "one\ntwo three\n\nfour (4)\nfive"


@pytest.fixture
def id_(store: Path) -> str:
    return kept(store, TEXT)


def kept(store: Path, text: str) -> str:
    with SqliteStore(store) as opened:
        Log.create(opened, redact=str).append(UserSaid((Text(text),)))
    return text_id(text)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_with_an_id_alone_it_is_the_text_byte_for_byte(store: Path, text: str) -> None:
    done = holdfast("recall", kept(store, text))
    assert (done.code, done.out, done.err) == (0, text.encode(), "")


@pytest.mark.slow
def test_bytes_survive_a_process_whose_locale_is_not_utf8(store: Path, tmp_path: Path) -> None:
    text = "naïve 上下文 🙂\r\nno newline at the end"
    id_ = kept(store, text)
    done = process(
        "recall", id_, env={"HOLDFAST_STORE": str(store), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    )
    assert (done.code, done.out) == (0, text.encode())


def test_only_a_terminal_gets_a_last_newline(id_: str) -> None:
    assert on_terminal("recall", id_).out == TEXT.replace("\n", "\r\n").encode() + b"\r\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--lines", "2-4"], "two three\n\nfour (4)\n"),
        (["--lines", "4-"], "four (4)\nfive"),
        (["--lines", "2"], "two three\n"),
        (["--chars", "1-7"], "one\ntwo"),
        (["--lines", "2", "--chars", "5-9"], "three"),
        (["--grep", r"\(\d\)"], "4: four (4)\n"),
        (["--grep", "^two", "--context", "1"], "1- one\n2: two three\n3- \n"),
        (["--query", "three two"], "2: two three\n"),
    ],
)
def test_a_part_of_it(id_: str, options: list[str], expected: str) -> None:
    done = holdfast("recall", id_, *options)
    assert (done.code, done.text) == (0, expected)


def test_what_was_asked_for_beyond_the_end_is_said(id_: str) -> None:
    done = holdfast("recall", id_, "--lines", "4-99")
    assert done.text == "four (4)\nfive"
    assert done.err == "note: lines end at 5\n"


def test_lines_that_do_not_exist_are_an_error_that_says_how_many_there_are(id_: str) -> None:
    done = holdfast("recall", id_, "--lines", "9999-10000")
    assert (done.code, done.out) == (1, b"")
    assert done.err == "error: the text has only 5 lines\n"


def test_json(id_: str) -> None:
    found = holdfast("recall", id_, "--lines", "2", "--json").json
    assert (found["id"], found["text"], found["total_lines"]) == (id_, "two three\n", 5)


def test_nothing_found_is_exit_code_1(id_: str) -> None:
    done = holdfast("recall", id_, "--grep", "zebra")
    assert (done.code, done.out, done.err) == (1, b"", "note: nothing matches\n")
    assert holdfast("recall", "--query", "zebra").code == 1


def test_a_query_alone_searches_the_whole_store(tmp_path: Path) -> None:
    path = json_file(tmp_path / "work.json", work(4, 10))
    assert holdfast("pack", path).code == 0
    done = holdfast("recall", "--query", "name_3_7")
    assert done.code == 0
    assert "def name_3_7()" in done.text
    found = done.text.split(":")[0]
    assert holdfast("recall", found).text == next(
        m["content"] for m in work(4, 10) if m.get("tool_call_id") == "c3"
    )


def test_a_log_id_gives_its_contents_and_an_entry_its_text(tmp_path: Path) -> None:
    log = holdfast("pack", json_file(tmp_path / "work.json", work(2, 3)), "--json").json["log"]
    contents = holdfast("recall", log).text
    assert contents.startswith(f"[log {log}]")
    entry = next(line.split()[1] for line in contents.split("\n") if "Reading 1." in line)
    assert "Reading 1." in holdfast("recall", entry).text
    assert holdfast("recall", entry[:8]).out == holdfast("recall", entry).out


def test_an_unknown_id(id_: str) -> None:
    done = holdfast("recall", "a" + "0" * 12)
    assert (done.code, done.out) == (3, b"")
    assert done.err.startswith(
        "error: nothing in the store has the id `a000000000000`\nhint: `holdfast logs` "
    )
    assert "hint: give at least 6 characters" in holdfast("recall", "a0").err


def test_without_a_store_none_is_made(store: Path) -> None:
    done = holdfast("recall", "a000000000000")
    assert done.code == 3
    assert f"note: there is no store at `{store}` yet" in done.err
    assert not store.exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "recall needs an id or a query"),
        (["{id}", "--grep", "("], "`(` is not a regular expression"),
        (["{id}", "--grep", "(a+)+b"], "`(a+)+b` repeats something that varies"),
        (["{id}", "--lines", "9-3"], "`9-3` is not a range of lines"),
        (["{id}", "--lines", ""], "`` is not a range of lines"),
        (["{id}", "--grep", "a", "--query", "b"], "`grep` and `query` do not go together"),
        (["{id}", "--context", "-1"], "invalid value for `--context`"),
    ],
)
def test_what_cannot_be_asked(id_: str, options: list[str], sentence: str) -> None:
    done = holdfast("recall", *(option.format(id=id_) for option in options))
    assert (done.code, done.out) == (2, b"")
    assert f"error: {sentence}" in done.err
    assert "\nhint: " in done.err
