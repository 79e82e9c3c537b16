"""Commands as values: how they are found, and those that show, undo and write."""

import asyncio
import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.coding.coding_session import INIT_PROMPT
from holdfast.agents.commands import COMMANDS, note_init_offer, offers_init, run_command
from holdfast.agents.commands.markdown import cell, code, fenced, table
from holdfast.errors import HoldfastError, InputError
from holdfast.events import LogStarted
from holdfast.log import import_log
from holdfast.packing.validator import check
from holdfast.store import MemoryStore
from holdfast.tools.call import CallStarted
from holdfast.tools.envelope import ToolError
from support.coding_sessions import CodingSetup, call, git, run, say

EDIT = {"path": "main.py", "old_string": "old", "new_string": "new"}
NAMES = """
context compact recall rewind resume fork model effort cost todos diff export view init help mode undo
permissions jobs
""".split()


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path, commits=True)
    yield found
    found.close()


def edited(setup, **more):
    """A coding that has read and edited a file."""
    coding = setup.open([call("Read", "1", path="main.py")], [call("Edit", "2", **EDIT)], "Done.", **more)
    say(coding, "Make it new.")
    return coding


def test_every_command_of_the_issue_is_there_and_says_how_it_is_used(setup):
    assert sorted(COMMANDS) == sorted(NAMES)
    listed = run(setup.open(), "/help").text
    for command in COMMANDS.values():
        assert command.usage.startswith(f"/{command.name}")
        assert command.usage.replace("|", "\\|") in listed
        assert command.about in listed


def test_help_of_one_command_says_more(setup):
    assert "`/rewind 3 both`" in run(setup.open(), "/help rewind").text


@pytest.mark.parametrize(
    ("typed", "near"), [("/contxt", "/context"), ("/rewnd 3", "/rewind"), ("/modle", "/model")]
)
def test_an_unknown_command_gets_the_nearest(setup, typed, near):
    with pytest.raises(InputError, match="there is no command") as error:
        run(setup.open(), typed)
    assert f"did you mean `{near}`?" in error.value.hint


@pytest.mark.parametrize("typed", ["/", "/zzzz"])
def test_what_is_near_no_command_gets_a_list(setup, typed):
    with pytest.raises(InputError, match="there is no command") as error:
        run(setup.open(), typed)
    assert error.value.hint.startswith("there are: /context, ")


MISTAKES = [
    *("/context much", "/cost now", "/diff x", "/init again", "/mode fast", "/undo", "/undo 0", "/undo two"),
    *(
        "/rewind",
        "/rewind 1",
        "/fork",
        "/fork 9",
        "/recall",
        "/recall a000000000000",
        "/compact",
        "/compact now",
    ),
    *("/compact undo", "/resume", "/resume !!", "/resume nobody said this", "/model nobody/none", "/help me"),
    *("/export pdf", "/export markdown /nowhere/at/all.md", "/export markdown .", "/todo"),
]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_a_sentence_with_a_hint_and_changes_nothing(setup, line):
    coding = setup.open()
    before = coding.session.log.info.entries
    with pytest.raises(HoldfastError) as error:
        run(coding, line)
    assert error.value.message
    assert error.value.hint
    assert coding.session.log.info.entries == before


def test_todos_are_listed_with_their_state(setup):
    todos = [{"content": "look | around", "status": "completed"}, {"content": "act", "status": "in_progress"}]
    coding = setup.open([call("TodoWrite", todos=todos)], "Ok.")
    assert run(coding, "/todos").text == "There are no todos."
    say(coding, "Begin.")
    text = run(coding, "/todos").text
    assert "1 of 2 done" in text
    assert "[x] look \\| around" in text
    assert "[>] act" in text


def test_mode_is_shown_and_set_and_the_agent_keeps_to_it(setup):
    coding = setup.open([call("Write", path="x", content="x")], "Not done.")
    assert "`auto` (now)" in run(coding, "/mode").text
    assert "`plan`" in run(coding, "/mode Plan").text
    say(coding, "Write.")
    assert not (setup.root / "x").exists()
    with pytest.raises(InputError) as error:
        run(coding, "/mode plann")
    assert error.value.hint == "did you mean `plan`?"


def test_undo_takes_edits_back_and_tells_the_agent(setup):
    coding = edited(setup)
    with pytest.raises(InputError, match="there is no edit `2`"):
        run(coding, "/undo 2")
    assert "+    print('old')" in run(coding, "/undo").text
    assert "'old'" in (setup.root / "main.py").read_text()
    assert "took back your last edits" in str(coding.session.window.transcript.items[-1].message)


def test_undo_leaves_what_somebody_else_changed(setup):
    coding = edited(setup)
    (setup.root / "main.py").write_text("mine\n")
    with pytest.raises(ToolError, match="was changed since"):
        run(coding, "/undo")
    assert (setup.root / "main.py").read_text() == "mine\n"


def test_recall_finds_by_id_lines_pattern_and_words(setup):
    (setup.root / "long.txt").write_text("".join(f"line {n} of many\n" for n in range(1, 301)))
    coding = setup.open([call("Read", path="long.txt")], "Seen: 300 lines.")
    say(coding, "Look at the long file.")
    [result] = [e for e in coding.session.log.entries() if type(e.event).__name__ == "ToolReturned"]
    before = coding.session.log.info.entries
    assert "line 7 of many" in run(coding, f"/recall {result.id}").text
    part = run(coding, f"/recall {result.id} 100-102").text
    assert "line 99 of" in part
    assert "line 300 of" not in part
    assert "1 matching lines" in run(coding, f"/recall {result.id} grep line 77 of").text
    assert "Seen: 300 lines." in run(coding, "/recall seen lines").text
    with pytest.raises(InputError, match="nothing in the store has the id"):
        run(coding, "/recall a0a0a0a0a0a0a")
    assert coding.session.log.info.entries == before


def test_init_hands_over_the_words_to_be_said(setup):
    shown = run(setup.open(), "/init")
    assert shown.say == INIT_PROMPT
    assert "Repository Guidelines" in shown.say


def test_init_does_not_rewrite_rules_unasked(setup):
    (setup.root / "AGENTS.md").write_text("Be brief.\n")
    coding = setup.open()
    with pytest.raises(InputError, match=r"`AGENTS.md` exists already"):
        run(coding, "/init")
    assert run(coding, "/init !").say == INIT_PROMPT


def test_init_is_offered_once_a_folder_and_only_without_rules(setup):
    coding = setup.open(log="one")
    assert offers_init(coding)
    assert offers_init(setup.open(log="two")), "nobody offered it yet"
    note_init_offer(coding)
    assert not offers_init(coding)
    assert not offers_init(setup.open(log="three"))
    elsewhere = setup.folder / "elsewhere"
    elsewhere.mkdir()
    assert offers_init(setup.open(log="four", root=elsewhere))
    (elsewhere / "CODE_LAW.md").write_text("No tabs.\n")
    assert not offers_init(setup.open(log="five", root=elsewhere))


def test_init_is_not_offered_in_the_middle_of_a_session(setup):
    coding = setup.open("Hello.")
    say(coding, "Hi.")
    assert not offers_init(coding)


def test_diff_is_against_what_was_there_before_the_session(setup):
    coding = setup.open(
        [call("Read", "1", path="main.py")],
        [call("Edit", "2", **EDIT), call("Write", "3", path="new.py", content="x = 1\n")],
        [call("Edit", "4", path="main.py", old_string="new", new_string="newer")],
        "Done.",
    )
    assert run(coding, "/diff").text == "The agent's edits changed no file in this session."
    say(coding, "Change.")
    text = run(coding, "/diff").text
    assert "-    print('old')\n+    print('newer')" in text
    assert "'new')" not in text
    assert "--- /dev/null\n+++ new.py\n" in text
    assert "main.py | 2 +-" in text
    assert "someone else" not in text


def test_diff_survives_a_restart_and_names_other_peoples_changes(setup):
    edited(setup)
    (setup.root / "main.py").write_text("def main():\n    print('mine')\n")
    text = run(setup.open(), "/diff").text
    assert "-    print('old')\n+    print('mine')" in text
    assert "`main.py` was also changed by someone else" in text


def test_diff_of_a_file_that_is_gone_and_of_one_that_is_as_it_was(setup):
    coding = setup.open(
        [call("Write", "1", path="gone.py", content="a\n"), call("Read", "2", path="main.py")],
        [call("Edit", "3", **EDIT)],
        [call("Edit", "4", path="main.py", old_string="new", new_string="old")],
        "Done.",
    )
    say(coding, "Change and change back.")
    (setup.root / "gone.py").unlink()
    text = run(coding, "/diff").text
    assert "print" not in text
    assert "`gone.py` was also changed by someone else" in text


def test_diff_runs_nothing_that_the_repository_names(setup):
    git(setup.root, "config", "diff.external", f"touch {setup.folder}/ran")
    git(setup.root, "config", "core.fsmonitor", f"touch {setup.folder}/ran")
    coding = edited(setup)
    assert "main.py | 2 +-" in run(coding, "/diff").text
    assert not (setup.folder / "ran").exists()


def test_diff_without_a_repository(setup):
    bare = setup.folder / "bare"
    bare.mkdir()
    coding = setup.open([call("Write", path="a.txt", content="a\n")], "Done.", root=bare)
    say(coding, "Write.")
    text = run(coding, "/diff").text
    assert "+a" in text
    assert "git" not in text


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def exported(setup, format_):
    (setup.root / "keys.env").write_text(f"TOKEN={SECRET}\n")
    coding = setup.open(
        [call("Read", "1", path="main.py"), call("Read", "2", path="keys.env")],
        [call("Edit", "3", **EDIT)],
        "It prints ```new``` now.",
    )
    say(coding, "Make it new, and look at @keys.env")
    shown = run(coding, f"/export {format_} out of it.txt")
    file = setup.root / "out of it.txt"
    assert f"`{file}`" in shown.text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert SECRET not in text
    return text


def test_export_as_markdown_reads_like_the_session(setup):
    text = exported(setup, "markdown")
    assert text.startswith("# Make it new, and look at @keys.env\n")
    parts = (
        "## 1. You",
        "> ",
        "**Read**: `Read main.py",
        "print('old')",
        "**Edit**: `Edit main.py",
        "### Holdfast",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.endswith("It prints ```new``` now.\n")


def test_export_as_json_can_be_taken_back(setup):
    lines = exported(setup, "json").encode().splitlines(keepends=True)
    log = import_log(MemoryStore(), lines)
    assert log.id == "session"
    assert isinstance(log.entries()[0].event, LogStarted)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_export_for_providers_passes_their_rules(setup, provider):
    body = json.loads(exported(setup, provider))
    assert not check(body["messages"], provider, system=body.get("system"), tools=body["tools"])
    said = json.dumps(body)
    assert "print('old')" in said
    assert "It prints ```new``` now." in said


def test_export_overwrites_only_when_told(setup):
    coding = setup.open()
    file = setup.root / "session.md"
    file.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        run(coding, "/export markdown session.md")
    assert file.read_text() == "mine"
    run(coding, "/export markdown session.md !")
    assert file.read_text().startswith("# A session")
    assert [p.name for p in setup.root.iterdir() if "holdfast" in p.name] == []


def test_export_without_a_name_is_named_after_the_log(setup):
    run(setup.open(), "/export")
    run(setup.open(), "/export json")
    assert (setup.root / "holdfast-session.md").exists()
    assert (setup.root / "holdfast-session.jsonl").exists()


def test_what_needs_the_log_waits_while_the_agent_works(setup):
    async def work():
        started = asyncio.Event()
        watch = lambda notice: started.set() if isinstance(notice, CallStarted) else None  # noqa: E731
        coding = setup.open([call("Bash", command="sleep 30")], "Slept.", watch=watch)
        running = asyncio.create_task(coding.say("Sleep."))
        await started.wait()
        refused = []
        for line in ("/rewind 1 session", "/undo", "/fork", "/compact now", "/resume x", "/model openai/x"):
            with pytest.raises(InputError) as error:
                await run_command(coding, line)
            refused.append(error.value.message)
        shown = [
            (await run_command(coding, line)).text
            for line in ("/context", "/cost", "/todos", "/diff", "/help")
        ]
        coding.agent.interrupt()
        await running
        return refused, shown

    refused, shown = setup.runner.run(work())
    assert all("the agent is working" in message for message in refused)
    assert all(shown)


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from("`|\\\n\r\t\x1b\u202e"))


@given(TEXTS)
def test_text_ends_no_fence_and_moves_no_cursor(text):
    shown = fenced(text)
    lines = shown.split("\n")
    assert lines[0] == lines[-1]
    assert all(not line.startswith(lines[0]) for line in lines[1:-1])
    assert not {"\x1b", "\r", "\u202e"} & set(shown)


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1))
def test_text_ends_no_row_of_a_table(rows):
    drawn = table(["a", "b"], [[cell(a), code(b)] for a, b in rows]).split("\n")
    assert len(drawn) == len(rows) + 2
    for line in drawn:
        assert line.startswith("| ")
        before = [line[:at] for at, c in enumerate(line) if c == "|"]
        bars = [part for part in before if (len(part) - len(part.rstrip("\\"))) % 2 == 0]
        assert len(bars) == 3
