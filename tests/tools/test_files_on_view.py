""" "unchanged since step N": said of lines that a real window shows and that are current, and of no others."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ContextOverflow
from holdfast.tools.envelope import ToolError
from support.file_tools import text
from support.file_window import WindowedTools
from support.logs import prose


@pytest.fixture
def tools(tmp_path):
    return WindowedTools(tmp_path, budget=16_000)


def rows(count, version=1):
    return "".join(f"row {n} of version {version}\n" for n in range(1, count + 1))


def is_claim(result):
    return result.envelope.data.get("unchanged") is True


def test_what_is_on_view_is_not_shown_again(tools):
    (tools.root / "a.txt").write_text(rows(30))
    assert not is_claim(tools.read("a.txt"))
    again = tools.read("a.txt", offset=5, limit=10)
    assert text(again) == "(unchanged since step 1: lines 5-14 of `a.txt` are on view there)"
    # A claim is no copy of its own.
    assert "since step 1" in text(tools.read("a.txt", offset=5, limit=10))
    tools.edit("a.txt", "row 3 of", "line 3 of")
    assert not is_claim(tools.read("a.txt"))
    assert is_claim(tools.read("a.txt"))
    tools.write("a.txt", rows(8, 2))
    assert "since step 7" in text(tools.read("a.txt"))


def test_what_was_folded_is_shown_again(tmp_path):
    tools = WindowedTools(tmp_path, budget=4_000)
    (tools.root / "a.txt").write_text(rows(40))
    tools.read("a.txt")
    assert is_claim(tools.read("a.txt"))
    for number in range(20):
        (tools.root / f"b{number}.txt").write_text(rows(40, number + 2))
        tools.read(f"b{number}.txt")
    assert "row 20 of version 1" not in tools.on_view()
    assert not is_claim(tools.read("a.txt"))
    assert is_claim(tools.read("a.txt", limit=3))


def test_a_write_that_changes_nothing_is_not_where_the_lines_stand(tools):
    (tools.root / "a.txt").write_text(rows(9))
    tools.read("a.txt")
    assert "already has this text" in text(tools.write("a.txt", rows(9)))
    assert "since step 2" not in text(tools.read("a.txt"))


@pytest.mark.parametrize("change", ["outside", "alias", "undo"])
def test_an_older_text_on_view_is_not_taken_for_the_one_of_now(tmp_path, change):
    """The newer text was cut when it came, and of the older one the very lines are on view."""
    tools = WindowedTools(tmp_path, budget=16_000)
    path, name = tools.root / "a.txt", "a.txt"
    path.write_text(rows(1000))
    (tools.root / "link.txt").symlink_to("a.txt")
    if change == "undo":
        tools.read("a.txt", offset=499, limit=1)
        tools.edit("a.txt", "row 500 of version 1\n", "row 500 of version 2\n")
    tools.read("a.txt", offset=495, limit=10)
    if change == "outside":
        path.write_text(rows(1000).replace("row 500 of version 1\n", "row 500 of version 2\n"))
    elif change == "alias":
        name = "link.txt"
        tools.edit(name, "row 500 of version 1\n", "row 500 of version 2\n")
    else:
        tools.undo()
    tools.read(name, limit=1000)
    now = path.read_text().split("\n")[499]
    assert f"   500\t{now}" not in tools.on_view()
    assert not is_claim(tools.read("a.txt", offset=495, limit=10))
    # Shown in this version only.
    tools.read(name, offset=1, limit=2)
    assert is_claim(tools.read(name, offset=1, limit=2))


def test_an_edit_of_ones_own_makes_the_window_sure_again(tools):
    path = tools.root / "a.txt"
    path.write_text(rows(20))
    tools.read("a.txt")
    path.write_text(rows(20, 2))
    tools.read("a.txt")
    assert not is_claim(tools.read("a.txt"))
    tools.edit("a.txt", "row 3 of", "line 3 of")
    tools.read("a.txt")
    assert is_claim(tools.read("a.txt"))


def test_another_encoding_is_another_text(tools):
    (tools.root / "a.txt").write_bytes("日本語のテキスト\n".encode("shift-jis") * 8)
    tools.read("a.txt")
    tools.read("a.txt", encoding="shift-jis")
    assert "日本語" in text(tools.read("a.txt"))


def test_the_cells_of_a_notebook_are_not_its_lines(tools):
    cells = [{"cell_type": "code", "source": f"x = {n}\ny\nz\n", "outputs": []} for n in range(6)]
    (tools.root / "a.ipynb").write_text(json.dumps({"cells": cells}, indent=1))
    tools.read("a.ipynb")
    tools.read("a.ipynb", raw=True, limit=12)
    assert not is_claim(tools.read("a.ipynb", raw=True, limit=12))


NAMES = ("a.txt", "sub/b.txt", "link.txt", "./a.txt")


class Attempt:
    """Random work that tries to get a wrong claim; each line that was ever written is unlike all others."""

    def __init__(self, root, seed, budget):
        self.rng, self.count = random.Random(seed), 0
        self.tools = WindowedTools(root, budget)
        (root / "sub").mkdir()
        (root / "link.txt").symlink_to("a.txt")
        for name in NAMES[:2]:
            (root / name).write_text(self.lines(self.rng.choice((6, 40, 120))))

    def lines(self, count):
        self.count += 1
        return "".join(f"text {self.count} number {n} {self.rng.random()}\n" for n in range(count))

    def act(self):
        rng, tools, name = self.rng, self.tools, self.rng.choice(NAMES)
        path = tools.root / name
        now = path.read_text().splitlines(keepends=True) if path.exists() else []
        match rng.choice("rrrrrreewoouc"):
            case "r":
                tools.read(
                    name, **rng.choice(({}, {"offset": rng.randrange(1, 40), "limit": 5}, {"limit": 20}))
                )
            case "e" if now:
                old = rng.choice(now)
                tools.edit(
                    name, old, rng.choice(("", self.lines(1), self.lines(3))), dry_run=rng.random() < 0.2
                )
            case "w":
                tools.write(name, self.lines(rng.choice((3, 30))), dry_run=rng.random() < 0.2)
            case "o" if now:
                at = rng.randrange(len(now))
                now[at : at + rng.randrange(3)] = [self.lines(rng.randrange(3))]
                path.write_text("".join(now) or self.lines(1))
            case "u" if tools.files.edits:
                try:
                    tools.undo(rng.randrange(1, 3))
                except ToolError:
                    return
            case "c":
                tools.chat(prose(rng, rng.choice((20, 300))))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2_500, 5_000, 12_000]))
def test_no_work_gets_a_wrong_claim(tmp_path_factory, seed, budget):
    attempt = Attempt(tmp_path_factory.mktemp("view"), seed, budget)
    try:
        for _ in range(25):
            attempt.act()
    except ContextOverflow:
        return


@pytest.mark.slow
def test_the_attempts_do_get_claims(tmp_path):
    claims = 0
    for seed in range(6):
        (tmp_path / str(seed)).mkdir()
        attempt = Attempt(tmp_path / str(seed), seed, 12_000)
        for _ in range(25):
            attempt.act()
        claims += attempt.tools.claims
    assert claims > 3
