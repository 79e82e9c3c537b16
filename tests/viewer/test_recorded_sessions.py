"""Sessions in other agents' folders: what is listed before a file is read, and what is read when it is opened."""

import gzip

import pytest

from holdfast.errors import InputError, NotFound
from holdfast.events import AssistantReplied
from holdfast.viewer.recorded_sessions import KEPT, RecordedSessions
from recordings.document_samples import OPENCODE, write_opencode_database
from recordings.recording_samples import NEUTRAL, write_lines
from viewer.agent_folders import SUB_AGENT, claude_line, make_home

TWO = [NEUTRAL, {**NEUTRAL, "id": "demo/two", "messages": [{"role": "user", "content": "Another thing"}]}]


def replies(log):
    return sum(isinstance(entry.event, AssistantReplied) for entry in log.entries())


@pytest.mark.parametrize(
    ("agent", "sources", "titles"),
    [
        ("claude", ["claude-code"] * 2, {"Find the parser", "Parser fixed"}),
        ("codex", ["codex"], None),
        ("copilot", ["copilot"], None),
        ("gemini", ["gemini"], {"What is this?"}),
        ("opencode", ["opencode"], {"A pixel"}),
        ("pi", ["pi"], None),
    ],
)
def test_the_folder_of_an_agent_is_listed_and_read(agent, sources, titles, tmp_path):
    sessions = RecordedSessions([make_home(tmp_path)[agent]])
    rows = sessions.rows()
    assert [row.source for row in rows] == sources
    assert sessions.refused() == []
    assert titles is None or {row.title for row in rows} == titles
    for row in rows:
        assert row.title
        assert row.last_at
        assert sessions.row(row.id) == row
        log = sessions.log(row.id)
        assert log.info.head.title == row.title
        assert replies(log) > 0


def test_a_whole_home_is_listed_with_the_ids_of_its_folders(tmp_path):
    folders = make_home(tmp_path)
    apart = [row.id for folder in folders.values() for row in RecordedSessions([folder]).rows()]
    assert sorted(row.id for row in RecordedSessions([tmp_path]).rows()) == sorted(apart)
    assert len(apart) == 7


def test_a_session_that_grows_is_read_again_and_a_new_one_appears(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", SUB_AGENT)
    sessions = RecordedSessions([tmp_path])
    (row,) = sessions.rows()
    assert replies(sessions.log(row.id)) == 1
    more = claude_line(
        "assistant", "u3", "u2", [{"type": "text", "text": "done"}], isSidechain=True, agentId="a1"
    )
    write_lines(path, [*SUB_AGENT, more])
    write_lines(tmp_path / "b.jsonl", [NEUTRAL])
    assert replies(sessions.log(row.id)) == 2
    assert [each.title for each in sessions.rows()] == ["Find the parser", "Fix the parser"]
    path.unlink()
    assert len(sessions.rows()) == 1
    with pytest.raises(NotFound, match=r"a\.jsonl cannot be read"):
        sessions.log(row.id)


def test_only_the_last_sessions_are_kept_in_memory(tmp_path):
    for number in range(KEPT + 1):
        write_lines(tmp_path / f"{number}.jsonl", [{**NEUTRAL, "id": f"demo/{number}"}])
    sessions = RecordedSessions([tmp_path])
    ids = [row.id for row in sessions.rows()]
    logs = [sessions.log(id_) for id_ in ids]
    assert sessions.log(ids[-1]) is logs[-1]
    assert sessions.log(ids[0]) is not logs[0]
    assert sessions.log(ids[1], keep=False) is not sessions.log(ids[1], keep=False)


def test_a_file_of_a_folder_with_several_recordings_is_one_row_until_it_is_opened(tmp_path):
    write_lines(tmp_path / "two.jsonl.gz", TWO)
    write_lines(tmp_path / "one.jsonl", [{**NEUTRAL, "system": "s" * 200_000}])
    sessions = RecordedSessions([tmp_path])
    one, two = sessions.rows()
    assert (one.title, one.is_several, two.title, two.is_several) == (
        "Fix the parser", False, "two.jsonl.gz", True,
    )  # fmt: skip
    assert sessions.row(two.id).is_several
    inside = sessions.inside(two.id)
    assert [row.title for row in inside] == ["Fix the parser", "Another thing"]
    assert [row.place for row in inside] == ["demo/one", "demo/two"]
    assert [sessions.log(row.id).info.head.title for row in inside] == ["Fix the parser", "Another thing"]


def test_a_line_that_begins_with_a_long_text_has_its_title_and_agent(tmp_path):
    write_lines(tmp_path / "two.jsonl", [{**value, "system": "s" * 200_000} for value in TWO])
    sessions = RecordedSessions([tmp_path / "two.jsonl"])
    assert {(row.title, row.source) for row in sessions.rows()} == {
        ("Fix the parser", "neutral"),
        ("Another thing", "neutral"),
    }


def test_a_named_list_of_messages_that_is_longer_than_a_look_has_its_title(tmp_path):
    said = [{"role": "user", "content": "Fix the parser"}, {"role": "assistant", "content": "x" * (1 << 21)}]
    write_lines(tmp_path / "talk.json", [said])
    sessions = RecordedSessions([tmp_path / "talk.json"])
    (row,) = sessions.rows()
    assert (row.title, row.place, row.source, row.is_several) == (
        "Fix the parser",
        "talk.json",
        "openai",
        False,
    )
    assert sessions.log(row.id).info.head.title == "Fix the parser"


def test_a_line_that_is_longer_than_a_look_is_found_to_be_alone(tmp_path):
    write_lines(tmp_path / "a.json", [{**NEUTRAL, "tools": [{"name": "x", "description": "d" * (1 << 21)}]}])
    sessions = RecordedSessions([tmp_path], "neutral")
    (row,) = sessions.rows()
    assert row.is_several
    assert not sessions.row(row.id).is_several
    assert sessions.log(row.id).info.head.title == "Fix the parser"


def test_a_named_file_shows_its_recordings_at_once(tmp_path):
    rows = RecordedSessions([write_lines(tmp_path / "two.jsonl", TWO)]).rows()
    assert [row.title for row in rows] == ["Fix the parser", "Another thing"]


def test_what_cannot_be_read_is_listed_with_a_sentence(tmp_path):
    write_lines(tmp_path / "good.jsonl", [NEUTRAL])
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "torn.jsonl.gz").write_bytes(gzip.compress(b"{}")[:7])
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + b"\0" * 100)
    write_opencode_database(tmp_path / "empty.db")
    sessions = RecordedSessions([tmp_path])
    assert len(sessions.rows()) == 1
    refused = {file.place: file.why for file in sessions.refused()}
    assert refused.keys() == {"package.json", "torn.jsonl.gz", "other.db", "empty.db"}
    assert all(why.startswith(place) for place, why in refused.items())


def test_a_named_file_that_cannot_be_read_is_an_error(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"name": "x"}')
    with pytest.raises(InputError, match="not a recording in a known format"):
        RecordedSessions([path]).check(path)
    empty = write_opencode_database(tmp_path / "empty.db")
    with pytest.raises(InputError, match=r"empty\.db holds no session"):
        RecordedSessions([empty]).check(empty)
    damaged = write_lines(tmp_path / "b.jsonl", [*SUB_AGENT, "no object", *SUB_AGENT])
    sessions = RecordedSessions([damaged])
    assert len(sessions.rows()) == 1
    with pytest.raises(InputError, match="is not a JSON object"):
        sessions.check(damaged)


def test_a_file_whose_end_is_damaged_shows_the_recordings_before_it(tmp_path):
    path = tmp_path / "two.jsonl"
    whole = write_lines(path, TWO).read_bytes()
    path.write_bytes(whole + whole[:50])
    sessions = RecordedSessions([path])
    assert len(sessions.rows()) == 2
    (refused,) = sessions.refused()
    assert refused.why == "recordings are missing: line 3, the last one, is torn and was left out"


def test_a_database_shows_what_is_written_beside_it(tmp_path):
    path = write_opencode_database(tmp_path / "opencode.db", OPENCODE)
    sessions = RecordedSessions([tmp_path])
    (row,) = sessions.rows()
    before = sessions.stamp(row.id)
    (tmp_path / "opencode.db-wal").write_bytes(b"")
    assert sessions.stamp(row.id) != before
    assert path.exists()


def test_a_session_that_is_not_there_is_not_found(tmp_path):
    sessions = RecordedSessions([tmp_path])
    for ask in (sessions.row, sessions.inside, sessions.log, sessions.stamp):
        with pytest.raises(NotFound, match="there is no session"):
            ask("../../etc/passwd")
