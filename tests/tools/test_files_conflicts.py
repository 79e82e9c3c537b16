"""Two who change one file: a conflict is a line that both touched, and nothing of either is ever lost."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import MemorySnapshots
from support.file_tools import FileTools, code, text

COUNT = 12


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def line(number):
    return f"start{number} word{number} end{number}\n"


WHOLE = "".join(line(number) for number in range(COUNT))


def opened(tools, content=WHOLE):
    path = tools.root / "a.txt"
    path.write_text(content)
    assert not tools.read("a.txt").is_error
    return path


class Theirs:
    """Somebody else's change: for each line None or what they made of it, and lines put in before it."""

    def __init__(self, changed, inserted):
        self.changed, self.inserted = changed, inserted

    def text(self, mine=None):
        """The file after it, with lines of mine in place of those that nobody else touched."""
        out = []
        for number in range(COUNT + 1):
            out.append(self.inserted.get(number, ""))
            if number < COUNT:
                out.append(self.changed.get(number, (mine or {}).get(number, line(number))))
        return "".join(out)

    def meets(self, first, last):
        within = any(first < number <= last for number in self.inserted)
        return within or any(first <= number <= last for number in self.changed)


@st.composite
def theirs(draw):
    changed = {}
    for number in draw(st.sets(st.integers(0, COUNT - 1), max_size=3)):
        changed[number] = draw(st.sampled_from(["", f"other {number}\n", line(number)[:-1] + " more\n"]))
    places = draw(st.sets(st.integers(0, COUNT), max_size=2))
    return Theirs(changed, {n: f"new {n}\n" * draw(st.integers(1, 2)) for n in places})


spans = st.tuples(st.integers(0, COUNT - 1), st.integers(0, 2))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(theirs(), spans, st.booleans())
def test_a_conflict_is_a_line_that_both_touched(tmp_path_factory, other, span, within):
    """An edit of a few whole lines, or of a word inside one that may still stand there."""
    tools = FileTools(tmp_path_factory.mktemp("both"))
    path = opened(tools)
    first, last = span[0], min(span[0] + (0 if within else span[1]), COUNT - 1)
    old = f"word{first} " if within else "".join(line(n) for n in range(first, last + 1))
    path.write_text(other.text())
    result = tools.edit("a.txt", old, "mine " if within else "mine\n")
    if other.meets(first, last):
        assert code(result) == "CONFLICT"
        assert path.read_text() == other.text()
        return
    assert not result.is_error, text(result)
    mine = dict.fromkeys(range(first, last + 1), "")
    mine[first] = line(first).replace(old, "mine ") if within else "mine\n"
    assert path.read_text() == other.text(mine)
    is_changed = bool(other.changed or other.inserted)
    assert result.envelope.data["modified_externally"] is is_changed
    assert ("modified_externally" in text(result)) is is_changed
    for lines in other.inserted.values():
        assert f"+{lines.splitlines()[0]}" in text(result) or "more rows of the diff" in text(result)
    # What is the agent's own now is nobody else's.
    again = tools.edit("a.txt", "mine", "mine again")
    assert "modified_externally" not in text(again)


@pytest.mark.parametrize("number", [4, 6], ids=["above", "below"])
def test_the_line_beside_a_changed_one_is_free(tools, number):
    path = opened(tools)
    now = path.read_text().replace("word5", "theirs")
    path.write_text(now)
    assert not tools.edit("a.txt", line(number), "mine\n").is_error
    assert path.read_text() == now.replace(line(number), "mine\n")


def test_an_edit_that_joins_lines_touches_both(tools):
    path = opened(tools)
    path.write_text(path.read_text().replace("end5", "theirs"))
    assert code(tools.edit("a.txt", "end4\n", "end4 ")) == "CONFLICT"
    assert not tools.edit("a.txt", "end3\n", "end3 ").is_error


def test_one_of_several_edits_that_meets_a_change_stops_them_all(tools):
    path = opened(tools)
    now = path.read_text().replace("end5", "theirs")
    path.write_text(now)
    assert code(tools.multi_edit("a.txt", ("word2", "mine"), ("word5", "mine"))) == "CONFLICT"
    # Also where the second looks for what the first one wrote.
    assert code(tools.multi_edit("a.txt", ("word4", "x"), ("x end4\nstart5", "y"))) == "CONFLICT"
    assert path.read_text() == now
    assert not tools.multi_edit("a.txt", ("word4", "x"), ("start4 x", "y"), ("y", "z")).is_error
    assert path.read_text() == now.replace("start4 word4", "z")


@pytest.mark.parametrize("every", [False, True])
def test_one_of_many_places_that_meets_a_change_stops_them_all(tools, every):
    path = opened(tools, "a\nb\na\nc\na\n")
    path.write_text("a\nb\na!\nc\na\n")
    result = tools.edit("a.txt", "a", "x", replace_all=every)
    assert code(result) == ("CONFLICT" if every else "INVALID_PARAM")
    assert path.read_text() == "a\nb\na!\nc\na\n"


def test_a_change_that_leaves_time_and_size_is_noticed(tools):
    path = opened(tools)
    before = path.stat()
    path.write_text(path.read_text().replace("word5", "drow5"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert code(tools.edit("a.txt", "start5", "mine")) == "CONFLICT"
    assert code(tools.write("a.txt", "mine\n")) == "CONFLICT"
    assert "+start5 drow5 end5" in text(tools.edit("a.txt", "word7", "mine"))


def test_a_file_that_was_only_touched_is_as_it_was(tools):
    path = opened(tools)
    os.utime(path, (1, 1))
    assert "modified_externally" not in text(tools.edit("a.txt", "word5", "mine"))
    path.chmod(0o600)
    assert not tools.write("a.txt", "all\n").is_error


def test_without_the_earlier_text_the_hash_alone_decides(tmp_path):
    tools = FileTools(tmp_path, SeenFiles(MemorySnapshots(most=0)))
    path = opened(tools)
    assert not tools.edit("a.txt", "word5", "mine").is_error
    assert not tools.edit("a.txt", "word6", "mine too").is_error
    path.write_text(path.read_text() + "theirs\n")
    for result in (
        tools.edit("a.txt", "word2", "x"),
        tools.edit("a.txt", "absent", "x"),
        tools.write("a.txt", "x"),
    ):
        assert code(result) == "CONFLICT"
    tools.read("a.txt")
    assert not tools.edit("a.txt", "word2", "x").is_error


@pytest.mark.parametrize(
    ("gone", "said"),
    [((0, 0), "line 1"), ((6, 7), "line 6"), ((10, 11), "line 10")],
    ids=["first", "inner", "last"],
)
def test_lines_that_somebody_took_away_are_named_by_the_one_before(tools, gone, said):
    path = opened(tools)
    path.write_text("".join(line(n) for n in range(COUNT) if not gone[0] <= n <= gone[1]))
    result = tools.edit("a.txt", "word3", "mine")
    assert f"in other lines ({said} before this edit)" in text(result)
