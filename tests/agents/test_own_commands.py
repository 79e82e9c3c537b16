"""Own commands: real files in the folders of a project and of a person, said to a real session."""

import os

import pytest

from holdfast.agents.coding.own_commands import BUILT_IN, OwnCommands
from holdfast.agents.commands import COMMANDS, listed_commands
from holdfast.agents.outcomes import Done
from holdfast.agents.prompt_files import prompt_folders
from holdfast.errors import InputError
from holdfast.messages import UserMessage, joined_text
from holdfast.terminal.conversation import OWN
from support.coding_sessions import CodingSetup, call, requests, run, say


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    yield found
    found.close()


@pytest.fixture
def own(tmp_path):
    """The person's own folders: Holdfast's and Claude Code's."""
    return tmp_path / "config", tmp_path / "home" / ".claude"


def put(folder, name, text):
    path = folder / "commands" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def commands(setup, own=()):
    return OwnCommands(prompt_folders(setup.root, own, "commands"))


REVIEW = """---
description: Review a file
argument-hint: [file] [focus]
allowed-tools: Bash(git diff:*), Read
model: sonnet
effort: high
---

Review $1 for $2. All of it: $ARGUMENTS.
"""


def test_no_file_has_the_name_of_a_command_that_is_built_in():
    screen = {usage.split()[0].removeprefix("/") for usage, _ in OWN}
    assert {*COMMANDS, *screen, "quit"} == BUILT_IN


def test_a_command_fills_in_its_arguments(setup):
    put(setup.root / ".holdfast", "review", REVIEW)
    said = run(setup.open(), '/review src/a.py "null checks"').say
    assert said == (
        'Review src/a.py for null checks. All of it: src/a.py "null checks".\n\n'
        "Tools it is written for, as far as they are allowed: Bash(git diff:*), Read."
    )


@pytest.mark.parametrize(
    ("body", "arguments", "said"),
    [
        ("Fix it.", "", "Fix it."),
        ("Fix it.", "now please", "Fix it.\n\nARGUMENTS: now please"),
        ("A $1 b $2.", "x", "A x b $2."),
        ("First $0, then $1.", "x y", "First x, then y."),
        ("$ARGUMENTS[0] and $1", "x", "x and x"),
        ("Costs \\$1.", "x", "Costs $1.\n\nARGUMENTS: x"),
        ("Say $1", '"$2 `rm`"', "Say $2 `rm`"),
        ("$1", "'it is not closed", "'it"),
    ],
)
def test_placeholders(setup, body, arguments, said):
    put(setup.root / ".claude", "c", body)
    assert run(setup.open(), f"/c {arguments}").say == said


def test_where_commands_are_found_and_which_of_two_counts(setup, own):
    put(setup.root / ".holdfast", "one", "project's own")
    put(setup.root / ".claude", "one", "project's Claude")
    put(setup.root / ".claude", "two", "project's Claude")
    put(own[0], "two", "person's own")
    put(own[0], "three", "person's own")
    put(own[1], "three", "person's Claude")
    put(own[1], "four", "person's Claude")
    found = commands(setup, own).by_name
    assert {name: one.body for name, one in found.items()} == {
        "one": "project's own",
        "two": "project's Claude",
        "three": "person's own",
        "four": "person's Claude",
    }
    assert found["two"].shown == ".claude/commands/two.md"


def test_folders_are_name_spaces_that_may_be_left_out_where_they_are_not_needed(setup):
    for name in ("front/component", "front/build", "back/build"):
        put(setup.root / ".claude", name, name)
    known = commands(setup)
    assert known.find("front:component").body == known.find("component").body == "front/component"
    assert known.find("back:build").body == "back/build"
    assert known.find("build") is None
    assert known.find("Front:Build").body == "front/build"


def test_they_are_listed_with_their_file_and_found_by_help(setup):
    put(setup.root / ".holdfast", "review", REVIEW)
    coding = setup.open()
    assert ("/review [file] [focus]", "Review a file (.holdfast/commands/review.md)") in listed_commands(
        coding
    )
    assert (
        "| `/review [file] [focus]` | Review a file (.holdfast/commands/review.md) |"
        in run(coding, "/help").text
    )
    assert "`.holdfast/commands/review.md`" in run(coding, "/help review").text
    with pytest.raises(InputError) as error:
        run(coding, "/reviwe")
    assert error.value.hint == "did you mean `/review`? `/help` lists all"


def test_a_built_in_command_wins_and_that_is_said(setup):
    put(setup.root / ".claude", "cost", "Do something else.")
    put(setup.root / ".claude", "sub/cost", "Mine.")
    coding = setup.open()
    assert coding.own_commands.warnings == (
        ".claude/commands/cost.md: `/cost` is built in, so the file is not used",
    )
    assert run(coding, "/cost").say == ""
    assert run(coding, "/sub:cost").say == "Mine."


def test_a_new_file_counts_at_once(setup):
    coding = setup.open()
    put(setup.root / ".holdfast", "late", "Here I am.")
    assert run(coding, "/late").say == "Here I am."


def test_a_command_of_a_repository_widens_nothing(setup):
    marker = setup.root / "ran"
    text = f"---\nallowed-tools: Bash(touch:*), Edit\n---\nState: !`touch {marker}`\n"
    put(setup.root / ".claude", "trap", text)
    edit = call("Edit", "e", path="main.py", old_string="old", new_string="new")
    coding = setup.open([call("Bash", "b", command=f"touch {marker}")], [edit], "Done.", mode="ask")
    answer = run(coding, "/trap")
    assert "Commands written as !`…` were not run" in answer.say
    assert not marker.exists()
    assert say(coding, answer.say) == [Done("Done.")]
    assert not marker.exists()
    assert "old" in (setup.root / "main.py").read_text()


def test_a_link_in_a_repository_shows_nothing_from_elsewhere(setup, tmp_path):
    (tmp_path / "secret.md").write_text("the secret")
    folder = setup.root / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "leak.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "huge.md").write_bytes(b"x" * 1_000_000)
    found = commands(setup)
    assert found.by_name == {}
    assert len(found.warnings) == 3
    assert all("; the file is left out" in warning for warning in found.warnings)


@pytest.mark.parametrize("linked", [".holdfast", ".holdfast/commands"])
def test_a_folder_that_is_a_link_out_of_the_repository_is_not_looked_into(setup, tmp_path, linked):
    for name in ("one", "two"):
        put(tmp_path / "outer", name, "the secret")
    outer = tmp_path / "outer" / ("commands" if "/" in linked else ".")
    (setup.root / linked).parent.mkdir(exist_ok=True)
    (setup.root / linked).symlink_to(outer)
    (setup.root / ".claude").symlink_to(".claude")
    found = commands(setup)
    assert found.by_name == {}
    where = setup.root / ".holdfast" / "commands"
    assert found.warnings == (f"{where}: the folder lies outside the workspace; it is left out",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\ndescription: x\n", "the head is not closed"),
        ("---\neffort: enormous\n---\nx", "line 2: "),
        ("---\ndescription: x\n---\n", "there is no text below the head"),
        ("", "there is no text below the head"),
    ],
)
def test_a_file_with_a_mistake_is_left_out_and_named(setup, text, why):
    put(setup.root / ".claude", "bad", text)
    put(setup.root / ".claude", "good", "Go.")
    found = commands(setup)
    assert list(found.by_name) == ["good"]
    assert ".claude/commands/bad.md" in found.warnings[0]
    assert why in found.warnings[0]


def test_text_from_a_file_cannot_forge_the_list(setup):
    put(setup.root / ".claude", "x", '---\ndescription: "a | b `c` \\e[31m"\nargument-hint: "`|"\n---\nGo.')
    usage, about = listed_commands(setup.open())[-1]
    assert "\x1b" not in about
    assert "`" not in usage + about


def test_mentions_in_a_command_are_mentions(setup):
    put(setup.root / ".claude", "look", "Look at @main.py.")
    coding = setup.open("Fine.")
    say(coding, run(coding, "/look").say)
    texts = [joined_text(m.parts) for m in requests(coding)[0].messages if isinstance(m, UserMessage)]
    assert texts[0] == "Look at @main.py."
    assert "You must read them with Read" in texts[1]


def test_a_model_is_named_and_not_switched_to(setup):
    put(setup.root / ".holdfast", "review", REVIEW)
    assert "names the model `sonnet`; this session keeps its own" in run(setup.open(), "/review a b").text
