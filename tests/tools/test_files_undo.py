"""Undo, and the state that comes back from a log after a crash."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from holdfast.tools.envelope import ToolError
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.snapshots import FolderSnapshots, MemorySnapshots
from support.file_tools import FileTools, code, text


@pytest.fixture
def tools(tmp_path):
    return FileTools(tmp_path)


def test_the_last_edits_are_taken_back(tools):
    path = tools.root / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    tools.read("a.txt")
    tools.edit("a.txt", "one", "1")
    tools.write("new.txt", "x\n")
    tools.multi_edit("a.txt", ("two", "2"), ("1", "eins"))
    result = tools.undo()
    assert path.read_bytes() == b"1\r\ntwo\r\n"
    assert result.envelope.text == "Undid 1 edit: `a.txt`."
    assert "-eins\n-2\n+1\n+two" in result.shown
    result = tools.undo(5)
    assert path.read_bytes() == b"one\r\ntwo\r\n"
    assert not (tools.root / "new.txt").exists()
    assert result.envelope.text == "Undid 2 edits: `a.txt`, `new.txt` (removed)."
    with pytest.raises(ToolError, match="no edit to undo"):
        tools.undo()


def test_after_an_undo_work_goes_on(tools):
    (tools.root / "a.txt").write_text("one\n")
    tools.read("a.txt")
    tools.edit("a.txt", "one", "two")
    tools.undo()
    assert "modified_externally" not in text(tools.read("a.txt"))
    assert not tools.edit("a.txt", "one", "three").is_error
    tools.write("b.txt", "x")
    tools.undo()
    assert not tools.write("b.txt", "y").is_error


def test_a_file_that_changed_since_is_left_alone_and_so_are_all_others(tools):
    for name in ("a.txt", "b.txt"):
        tools.write(name, "old\n")
        tools.edit(name, "old", "new")
    (tools.root / "b.txt").write_text("theirs\n")
    with pytest.raises(ToolError, match=r"`b\.txt` was changed since"):
        tools.undo(4)
    assert (tools.root / "a.txt").read_text() == "new\n"
    assert len(tools.files.edits) == 4


def test_an_undo_does_not_take_back_what_somebody_else_did_in_between(tools):
    path = tools.root / "a.txt"
    path.write_text("1\n2\n3\n4\n5\n6\n")
    tools.read("a.txt")
    tools.edit("a.txt", "1\n", "one\n")
    path.write_text(path.read_text().replace("6", "theirs"))
    tools.edit("a.txt", "3\n", "three\n")
    with pytest.raises(ToolError, match="between two of these edits"):
        tools.undo(2)
    tools.undo(1)
    assert path.read_text() == "one\n2\n3\n4\n5\ntheirs\n"


def test_what_is_no_longer_kept_cannot_be_undone(tmp_path):
    tools = FileTools(tmp_path, SeenFiles(MemorySnapshots(most=3)))
    (tmp_path / "a.txt").write_text("long text\n")
    tools.read("a.txt")
    tools.edit("a.txt", "long", "short")
    with pytest.raises(ToolError, match="no longer kept"):
        tools.undo()
    assert (tmp_path / "a.txt").read_text() == "short text\n"


def test_undo_works_after_a_crash(tmp_path):
    (tmp_path / "work").mkdir()
    files = SeenFiles(FolderSnapshots(tmp_path / "kept"))
    tools = FileTools(tmp_path / "work", files)
    path = tmp_path / "work" / "a.txt"
    path.write_text("one\n")
    tools.read("a.txt")
    tools.edit("a.txt", "one", "two")
    tools.edit("a.txt", "two", "three")
    again = tools.restored()
    again.files.snapshots = FolderSnapshots(tmp_path / "kept")
    again.undo(2)
    assert path.read_text() == "one\n"


def test_data_of_others_changes_nothing():
    files = SeenFiles()
    for name, data in [
        ("Read", {}),
        ("Read", {"path": 5}),
        ("Edit", {"path": "a", "before": "x"}),
        ("Undo", {"count": 3}),
        ("Bash", {"path": "a"}),
        ("Undo", {}),
    ]:
        files.restore(name, data)
    assert (files.by_key, files.edits) == ({}, [])


NAMES = st.sampled_from(["a.txt", "b.txt", "sub/c.txt"])
WORDS = st.sampled_from(["one", "two", "three", "four\nfive", "six\n"])


class Work(RuleBasedStateMachine):
    """Calls, undos and somebody else's changes in any order. What was restored from the log knows what the live
    tools know, and nothing that somebody else wrote is ever lost without a word."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.step = 0
        self.live = FileTools(self.root, SeenFiles(step=lambda: self.step))
        self.theirs = {}

    def teardown(self):
        self.folder.cleanup()

    def call(self, name, **arguments):
        self.step += 1
        path = self.root / arguments["path"]
        before = path.read_text() if path.exists() else None
        result = self.live.call(name, **arguments)
        theirs = self.theirs.get(arguments["path"])
        if name == "Write" and not result.is_error and before is not None and not arguments["dry_run"]:
            assert theirs is None, "Write replaced what the agent had not seen"
        if result.is_error or arguments.get("dry_run"):
            assert (path.read_text() if path.exists() else None) == before
        else:
            self.theirs.pop(arguments["path"], None)
        if theirs is None and before is not None:
            assert code(result) != "CONFLICT"
            assert "modified_externally" not in text(result)

    @rule(path=NAMES, offset=st.integers(-3, 3), limit=st.integers(0, 3))
    def read(self, path, offset, limit):
        self.call("Read", path=path, offset=offset, limit=limit)

    @rule(path=NAMES, old=WORDS, new=WORDS, every=st.booleans(), dry=st.booleans())
    def edit(self, path, old, new, every, dry):
        self.call("Edit", path=path, old_string=old, new_string=new, replace_all=every, dry_run=dry)

    @rule(path=NAMES, edits=st.lists(st.tuples(WORDS, WORDS), max_size=3))
    def multi_edit(self, path, edits):
        given = [{"old_string": old, "new_string": new} for old, new in edits]
        self.call("MultiEdit", path=path, edits=given)

    @rule(path=NAMES, words=st.lists(WORDS, max_size=4), dry=st.booleans())
    def write(self, path, words, dry):
        self.call("Write", path=path, content="".join(words), dry_run=dry)

    @rule(count=st.integers(1, 3))
    def undo(self, count):
        before = {path: path.read_text() for path in self.root.rglob("*.txt")}
        try:
            self.live.undo(count)
        except ToolError:
            assert {path: path.read_text() for path in self.root.rglob("*.txt")} == before
        for path in self.theirs:
            assert (self.root / path).read_text() == before[self.root / path]

    @rule(path=NAMES, words=st.lists(WORDS, min_size=1, max_size=4))
    def somebody_else_writes(self, path, words):
        file = self.root / path
        content = "".join(words)
        if file.exists() and file.read_text() == content:
            return
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        sight = self.live.files.by_key.get(path)
        if sight is None or self.live.files.snapshots.keep(content.encode()) != sight.hash:
            self.theirs[path] = content
        else:
            self.theirs.pop(path, None)

    @invariant()
    def what_is_restored_is_what_was_known(self):
        again = self.live.restored()
        assert again.files.by_key == self.live.files.by_key
        assert again.files.edits == self.live.files.edits


Work.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestWork = pytest.mark.slow(Work.TestCase)
