"""Mentions: what is one, what is none, and what the model is told of it."""

from base64 import b64decode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.agents.mentions import Mention, find_mentions, resolve_mentions
from holdfast.tools.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "root"
    for name in [
        "core/config.py",
        "目录/文件.py",
        "my notes.txt",
        "a.py",
        "b.py",
        "c.py",
        "d.py",
        "e.py",
        "f.py",
    ]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    return Workspace([root])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @core/config.py please", [Mention("core/config.py")]),
        ("see @core/config.py.", [Mention("core/config.py")]),
        ("(@core/config.py)", [Mention("core/config.py")]),
        ("@a.py, @b.py and @c.py!", [Mention("a.py"), Mention("b.py"), Mention("c.py")]),
        ('@"my notes.txt" has it', [Mention("my notes.txt", is_quoted=True)]),
        ("请检查@目录/文件.py，谢谢", [Mention("目录/文件.py")]),
        ("@a.py:10-40", [Mention("a.py", 10, 40)]),
        ("@a.py:10", [Mention("a.py", 10, 10)]),
        ("@a.py:10-", [Mention("a.py", 10, 0)]),
        ("@a.py#L3-L9", [Mention("a.py", 3, 9)]),
        ('@"my notes.txt":2-3', [Mention("my notes.txt", 2, 3, is_quoted=True)]),
        ("write to someone@example.org", []),
        ("café@example.org", []),
        ("a_b@c.py", []),
        (r"a plain \@ and \@a.py", []),
        ("@ alone, and @", []),
        ("@src/", [Mention("src/")]),
        ("@..", []),
    ],
)
def test_what_is_a_mention(text, found):
    assert list(find_mentions(text)) == found


PIXEL = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_pictures_are_attached_wherever_they_lie_and_in_their_order(workspace, tmp_path):
    for name in ("root/one.png", "other.png"):
        (tmp_path / name).write_bytes(PIXEL)
    text = f"compare @one.png with @{tmp_path}/other.png, @a.py and @one.png"
    said = resolve_mentions(text, workspace, takes_images=True)
    assert [b64decode(picture.data) for picture in said.pictures] == [PIXEL, PIXEL]
    assert [picture.media_type for picture in said.pictures] == ["image/png"] * 2
    assert [note.split("`")[1] for note in said.notes] == ["one.png", f"{tmp_path}/other.png"]
    assert "1 × 1 pixels" in said.notes[0]
    assert "one.png" in said.reminder.splitlines()[1]
    assert "- a.py" in said.reminder


def test_why_a_picture_is_not_attached_is_said(workspace, tmp_path):
    (tmp_path / "root" / "one.png").write_bytes(PIXEL)
    (tmp_path / "root" / "cut.png").write_bytes(PIXEL[:40])
    (tmp_path / "root" / "large.png").write_bytes(PIXEL + b"x" * 4_000_000)
    text = "@one.png @cut.png @large.png"
    none = resolve_mentions("@one.png", workspace)
    assert none.pictures == ()
    assert none.notes == ("`one.png` is a picture, and the model takes none",)
    some = resolve_mentions(text, workspace, takes_images=True)
    assert len(some.pictures) == 1
    assert "damaged" in some.notes[1]
    assert "3750000 can be shown" in some.notes[2]
    for n in range(9):
        (tmp_path / "root" / f"{n}.gif").write_bytes(b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b")
    many = resolve_mentions(" ".join(f"@{n}.gif" for n in range(9)), workspace, takes_images=True)
    assert len(many.pictures) == 8
    assert "one picture too many" in many.notes[-1]


def test_the_model_is_told_to_read_what_was_mentioned(workspace):
    said = resolve_mentions("compare @a.py:1-3 with @目录/文件.py and @a.py:1-3", workspace)
    assert said.text == "compare @a.py:1-3 with @目录/文件.py and @a.py:1-3"
    assert said.reminder.splitlines() == [
        "<system-reminder>",
        "The user mentioned these files. You must read them with Read before you answer:",
        "- a.py, lines 1-3",
        "- 目录/文件.py",
        "</system-reminder>",
    ]


def test_of_more_than_five_the_rest_is_named_as_not_attached(workspace):
    said = resolve_mentions("@a.py @b.py @c.py @d.py @e.py @f.py @core/config.py", workspace)
    assert [line for line in said.reminder.splitlines() if line.startswith("- ")] == [
        f"- {name}.py" for name in "abcde"
    ]
    assert "read what you need: f.py, core/config.py" in said.reminder


def test_a_folder_is_to_be_listed(workspace):
    assert "list them with LS: core" in resolve_mentions("what is in @core/?", workspace).reminder


@pytest.mark.parametrize("path", ["gone.py", "core/gone", '"gone file"', "../secret.txt", "/etc/passwd"])
def test_a_mention_that_leads_to_nothing_is_said(workspace, path):
    said = resolve_mentions(f"look at @{path}", workspace)
    assert "A mention leads to nothing" in said.reminder
    assert said.missing == (path.strip('"'),)


def test_a_link_that_leads_out_is_not_followed(workspace):
    Path(workspace.roots[0], "way.txt").symlink_to("../secret.txt")
    assert "outside the workspace" in resolve_mentions("@way.txt", workspace).reminder


@pytest.mark.parametrize("text", ["use @property here", "ask @alice", r"\@a.py is plain", "no mention"])
def test_what_is_no_file_is_left_alone(workspace, text):
    said = resolve_mentions(text, workspace)
    assert said.reminder == ""
    assert said.text == text.replace("\\@", "@")


@given(st.text(alphabet='@\\":#-L0123a./ é目，\n', max_size=40))
def test_no_text_makes_it_fail(text):
    assert all(mention.path and "\n" not in mention.path for mention in find_mentions(text))
