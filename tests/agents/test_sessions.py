"""The sessions of a folder: listed, searched and resumed."""

import sqlite3
import time

import pytest

from holdfast.agents.commands.resume import MOST_SESSIONS, age
from holdfast.agents.model_requests import RequestSettings
from holdfast.agents.sessions import (
    TASK_SOURCE,
    first_words,
    logs_in_folder,
    read_session,
    search_sessions,
    session_folder,
    sessions_in,
)
from holdfast.errors import InputError
from holdfast.events import UserSaid
from holdfast.log import Log
from holdfast.messages import Text, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from support.coding_sessions import CodingSetup, call, run, say


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


def held(setup, log, *turns, **more):
    """A session of questions and answers."""
    coding = setup.open(*turns[1::2], log=log, **more)
    say(coding, *turns[::2])
    return coding


def rows(text):
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_sessions_are_listed_newest_first_with_their_first_words(setup):
    held(setup, "older", "Fix the parser, please.\nIt breaks on tabs.", "Fixed.", "Thanks.", "Good.")
    held(setup, "newer", "Write a test.", "Written.")
    setup.open(log="silent")
    listed = rows(run(setup.open(log="now"), "/resume").text)
    assert [line.split("`")[1] for line in listed] == ["newer", "older"]
    assert "`Fix the parser, please. It breaks on tabs.`" in listed[1]
    assert "| just now | 2 |" in listed[1]


def test_only_sessions_of_this_folder_are_listed(setup):
    elsewhere = setup.folder / "elsewhere"
    elsewhere.mkdir()
    held(setup, "theirs", "Hello there.", "Hi.", root=elsewhere)
    Log.create(setup.store, id="imported").append(UserSaid((Text("Hello there."),)))
    task = Log.create(setup.store, id="task", source=TASK_SOURCE, meta={"root": str(setup.root.resolve())})
    task.append(UserSaid((Text("Look around."),)))
    here = setup.open(log="now")
    with pytest.raises(InputError, match="no other sessions yet"):
        run(here, "/resume")
    with pytest.raises(InputError, match=r"belongs to `.*elsewhere`") as error:
        run(here, "/resume theirs")
    assert "`holdfast resume theirs`" in error.value.hint
    with pytest.raises(InputError, match="not a session of this agent"):
        run(here, "/resume imported")
    with pytest.raises(InputError, match="is this session"):
        run(here, "/resume now")


def test_a_session_is_found_by_what_was_said_answered_or_returned(setup):
    (setup.root / "notes.md").write_text("The frobnicator hums.\n")
    held(setup, "one", "Paint the bicycle shed green.", "It is emerald now.")
    coding = setup.open([call("Read", path="notes.md")], "Read.", log="two")
    say(coding, "Read the notes.")
    here = setup.open(log="now")
    for words, log in (("shed bicycle", "one"), ("EMERALD", "one"), ("frobnicator", "two")):
        listed = rows(run(here, f"/resume {words}").text)
        assert [line.split("`")[1] for line in listed] == [log], words
    assert "`Paint the bicycle shed green.`" in rows(run(here, "/resume shed").text)[0].split("|")[-2]


def test_words_of_the_prompt_find_nothing(setup):
    held(setup, "one", "Hello.", "Hi.")
    with pytest.raises(InputError, match="no session of this folder says"):
        run(setup.open(log="now"), "/resume Holdfast repository")


def test_a_session_with_all_words_hides_those_with_one(setup):
    held(setup, "both", "The red door of the barn.", "Yes.")
    held(setup, "one", "A red car.", "Yes.")
    assert [*search_sessions(setup.store, ["both", "one"], "red door")] == ["both"]
    assert [*search_sessions(setup.store, ["both", "one"], "red")] == ["both", "one"]
    assert [*search_sessions(setup.store, ["both", "one"], "red elephant")] == [
        "both",
        "one",
    ]
    assert search_sessions(setup.store, ["both", "one"], "elephant") == {}


def test_words_in_chinese_are_found(setup):
    held(setup, "one", "请修复解析器的错误。", "好的。")
    held(setup, "two", "写一个测试。", "好的。")
    listed = rows(run(setup.open(log="now"), "/resume 解析器").text)
    assert [line.split("`")[1] for line in listed] == ["one"]


def test_a_session_is_taken_up_by_its_id_or_the_beginning_of_it(setup):
    held(setup, "conversation-1", "Hello.", "Hi.")
    here = setup.open(log="now")
    assert run(here, "/resume conversation-1").open_log == "conversation-1"
    assert run(here, "/resume conver").open_log == "conversation-1"


@pytest.mark.slow
def test_many_sessions_are_not_all_listed(setup):
    for number in range(MOST_SESSIONS + 3):
        held(setup, f"session-{number:02}", f"Question {number}.", "Answer.")
    here = setup.open(log="now")
    text = run(here, "/resume").text
    assert len(rows(text)) == MOST_SESSIONS
    assert "and 3 older sessions" in text
    assert len(rows(run(here, "/resume question").text)) == MOST_SESSIONS


def test_what_a_session_cost_is_listed(setup):
    request_settings = RequestSettings(
        entry=ModelEntry(name="house/large", price=Price(input=10.0, output=50.0))
    )
    reply = ModelReply(parts=(Text("Yes."),), stop="end", usage=Usage(100_000, 1_000), model="large")
    held(setup, "one", "Really?", reply, request_settings=request_settings)
    held(setup, "two", "Unpriced?", "Yes.")
    here = setup.open(
        log="now", request_settings=request_settings, model=ScriptedModel("Hm.", name="house/large")
    )
    listed = rows(run(here, "/resume").text)
    assert [line.split("|")[4].strip() for line in listed] == ["–", "$1.05"]


def test_a_fork_is_listed_as_one_and_goes_on_by_itself(setup):
    coding = held(setup, "first", "Hello.", "Hi.")
    fork = run(coding, "/fork").open_log
    listed = rows(run(setup.open(log="now"), "/resume").text)
    assert sum("(fork)" in line for line in listed) == 1
    assert session_folder(setup.store, fork) == str(setup.root.resolve())
    assert {info.head.id for info in sessions_in(setup.store, setup.root.resolve())} == {"first", fork}


def test_a_damaged_session_is_named_and_hides_no_other(setup):
    held(setup, "broken", "Hello there, this is long enough.", "Hi.")
    held(setup, "whole", "Good day.", "Good day.")
    with sqlite3.connect(setup.folder / "store.db") as db:
        db.execute("DROP TRIGGER entries_are_append_only")
        db.execute(
            "UPDATE entries SET body = '{' WHERE seq = 4 AND log = (SELECT n FROM logs WHERE id = 'broken')"
        )
    db.close()
    listed = rows(run(setup.open(log="now"), "/resume").text)
    assert len(listed) == 2
    assert "cannot be read" in next(line for line in listed if "`broken`" in line)
    assert "`Good day.`" in next(line for line in listed if "`whole`" in line)


def test_reading_a_session_counts_only_its_path(setup):
    coding = held(setup, "one", "First.", "1.", "Second.", "2.", "Third.", "3.")
    run(coding, "/rewind 2 session")
    [info] = logs_in_folder(setup.store, str(setup.root.resolve()))
    conversation = read_session(setup.store, info)
    assert (conversation.title, conversation.rounds) == ("First.", 1)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "just now"),
        (59, "just now"),
        (61, "1 min"),
        (7_300, "2 h"),
        (90_000, "1 d"),
        (1_900_000, "3 w"),
        (7e7, "2 y"),
    ],
)
def test_ages_are_said_in_the_largest_unit(seconds, shown):
    assert age(time.time() - seconds) == shown


def test_first_words_are_one_line():
    assert first_words("a\n  b\tc") == "a b c"
    assert first_words("word " * 100) == ("word " * 100)[:71] + "…"
