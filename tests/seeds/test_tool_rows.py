"""What the design documents say of digests of edits, of searches, and of long results of a review.

Each test names the rows of docs/seeds.md that it stands for.
"""

import asyncio
import re

import pytest

from holdfast.events import AssistantReplied, Folded, FoldedRun, ToolReturned, UserSaid
from holdfast.ids import text_id
from holdfast.messages import Text, ToolCall
from holdfast.packing.pack import pack
from holdfast.packing.profile import BUILT_IN, CODE, DRAFT16K
from holdfast.packing.rendering.digests import choose
from holdfast.recall import recall
from holdfast.session import Session
from holdfast.tool_use import recognize_tool
from holdfast.tools.search.grep import grep_tool
from holdfast.tools.workspace import Workspace
from support.file_tools import FileTools
from support.seed_rounds import add_round, result_text, seed_session, shown_results

RECALLED = re.compile(r'Recall\(id="(\w+)", lines="(\d+)-(\d+)"\)')


def digest(name, arguments, text, profile):
    """The lines of a result that its digest keeps."""
    found = choose(recognize_tool(ToolCall("c", name, arguments)), text, profile)
    return [found.lines[number] for number in sorted(found.numbers)]


@pytest.fixture
def tools(tmp_path):
    (tmp_path / "rows.txt").write_text("".join(f"row {n}\n" for n in range(200)))
    tools = FileTools(tmp_path)
    tools.read("rows.txt")
    return tools


def test_a_large_diff_keeps_its_headline_and_its_first_rows(tools):
    """000-13: the headline has file, replacements and changed lines; the first 50 rows of the diff follow."""
    text = tools.edit("rows.txt", "row ", "line ", replace_all=True).envelope.text
    heading, hunk, *rows = digest("Edit", {"path": "rows.txt"}, text, DRAFT16K)
    assert re.fullmatch(r"Edited `rows.txt`: 200 replacements, .*lines? .*", heading)
    assert hunk.startswith("@@ -1,")
    assert len(rows) == 50
    assert all(row[0] in "+-" for row in rows)


def test_a_small_diff_stays_whole_under_its_headline(tools):
    text = tools.edit("rows.txt", "row 7\n", "row seven\n").envelope.text
    assert digest("Edit", {"path": "rows.txt"}, text, DRAFT16K) == text.split("\n")
    assert "lines 8-8" in text or "line 8" in text


@pytest.mark.parametrize(("name", "said"), [("new.txt", "Created"), ("rows.txt", "Updated")])
def test_write_says_whether_the_file_is_new_and_keeps_fifty_lines_of_it(tools, name, said):
    content = "".join(f"other {n}\n" for n in range(200))
    text = tools.write(name, content).envelope.text
    with Session(profile="draft16k") as session:
        session.record(
            UserSaid((Text("Write it."),)),
            AssistantReplied((ToolCall("c", "Write", {"path": name, "content": content}),)),
            ToolReturned("c", "Write", (Text(text),)),
        )
        step = session.window.transcript.steps[0].entry
        session.record(Folded("manual", runs=(FoldedRun(step, step, "digest"),)))
        _, replied, returned = pack(session.window.view()).messages
        assert f"{said} `{name}`" in returned.text
        (call,) = replied.calls
        assert call.arguments["path"] == name
        *kept, mark = call.arguments["content"].split("\n")
        assert kept == [f"other {n}" for n in range(50)]
        assert mark.startswith("[holdfast: the first 50 of ")


def test_grep_keeps_its_pattern_its_true_total_and_five_matches(tmp_path):
    (tmp_path / "a.py").write_text("".join(f"needle {n}\n" for n in range(30)))
    found = asyncio.run(grep_tool().run({"pattern": "needle"}, Workspace([tmp_path])))
    heading, *matches = digest("Grep", {"pattern": "needle"}, found.envelope.text, CODE)
    assert heading.startswith("Found 30 matching lines in 1 file for `needle`")
    assert matches == [f"a.py:{n + 1}: needle {n}" for n in range(5)]


def review_of_one_result(lines):
    session = Session(profile="review")
    session.append({"role": "user", "content": "Look at it."})
    call = {"id": "c", "type": "function", "function": {"name": "search_in_project", "arguments": "{}"}}
    session.append({"role": "assistant", "content": "", "tool_calls": [call]})
    session.append({"role": "tool", "tool_call_id": "c", "content": "\n".join(lines)})
    return session


def test_a_long_result_of_a_review_shows_its_ends_its_counts_and_the_call_for_the_rest():
    lines = [f"src/module_{n}.py:{n}: some words of its own" for n in range(900)]
    with review_of_one_result(lines) as session:
        shown = shown_results(session)["c"]
        assert len(shown) <= BUILT_IN["review"].max_tool_chars + 200
        rows = shown.split("\n")
        at = next(n for n, row in enumerate(rows) if row.startswith("[holdfast:"))
        head, tail = rows[:at], rows[at + 1 :]
        assert len(head) > 20
        assert len(tail) > 20
        assert [*head, *tail] == [*lines[: len(head)], *lines[-len(tail) :]]
        assert f"{900 - len(head) - len(tail)} of 900 lines left out" in rows[at]
        id_, first, last = RECALLED.search(rows[at]).groups()
        missing = recall(session.store, id_, lines=(int(first), int(last))).text
        assert missing.removesuffix("\n").split("\n") == lines[len(head) : -len(tail)]


def test_an_old_result_of_a_review_is_one_line_with_the_id_of_the_whole():
    """002: what the tool did, and the id that brings back its full result."""
    with seed_session("review", 16_000, max_messages=0, window_cap=0) as session:
        for number in range(40):
            add_round(session, number, lines=60)
            session.make_room()
        shown = shown_results(session)
        stubs = {id_: text for id_, text in shown.items() if "\n" not in text}
        assert stubs
        for id_, text in stubs.items():
            whole = result_text(id_.removeprefix("c"), 60)
            assert f'Recall(id="{text_id(whole)}")' in text
            assert f'Grep "part {id_.removeprefix("c")}"' in text
            assert recall(session.store, text_id(whole)).text == whole


def test_a_result_is_stored_by_its_content_and_each_call_by_its_entry():
    """002-26: two calls with one result have one text, and an entry of their own."""
    with Session() as session:
        for _ in range(2):
            add_round(session, 0, lines=30)
        whole = result_text("0-0", 30)
        assert recall(session.store, text_id(whole)).text == whole
        returned = [e.id for e in session.log.entries() if getattr(e.event, "call_id", "")]
        assert len(set(returned)) == 2
        assert all(whole in recall(session.store, id_).text for id_ in returned)


def test_a_secret_in_a_result_is_redacted_before_it_is_stored(tmp_path):
    secret = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
    with Session(profile="draft16k", store=tmp_path / "store.db") as session:
        session.record(
            UserSaid((Text("Show the settings."),)),
            AssistantReplied((ToolCall("c", "Bash", {"command": "env"}),)),
            ToolReturned("c", "Bash", (Text(f"HOME=/root\nOPENAI_API_KEY={secret}\nLANG=C"),)),
        )
        assert shown_results(session)["c"] == "HOME=/root\nOPENAI_API_KEY=<REDACTED>\nLANG=C"
    assert all(secret.encode() not in file.read_bytes() for file in tmp_path.iterdir())
