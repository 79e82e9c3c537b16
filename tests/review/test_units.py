"""From diffs to units: cut at functions, put together where near, with ids that stay."""

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.review.diff import Diff, FileChange
from holdfast.review.diff_parser import parse_diff
from holdfast.review.git_changes import added_hunk, read_diff, read_diff_text
from holdfast.review.hunk_groups import NEAR, WHOLE_FILE
from holdfast.review.report import ReviewReport
from holdfast.review.unit import Span
from holdfast.review.units import build_units, count_uses
from support.review_repos import Repo


class Texts:
    """Versions out of two dictionaries."""

    def __init__(self, old: dict[str, str], new: dict[str, str]) -> None:
        self.old = old.get
        self.new = new.get


def function(name: str, lines: int = 3) -> str:
    return f"def {name}(x):\n" + "".join(f"    {name}_{i} = {i}\n" for i in range(lines)) + "    return x\n"


def module(*names: str, lines: int = 3) -> str:
    return "import os\n\n\n" + "\n\n".join(function(name, lines) for name in names)


def changed(tmp_path: Path, old: dict[str, str], new: dict[str, str]):
    """Units between two trees of a real repository."""
    repo = Repo(tmp_path / "repo")
    first = repo.commit(old)
    for name in old.keys() - new.keys():
        (repo.folder / name).unlink()
    second = repo.commit(new)
    return build_units(*read_diff(repo.folder, f"{first}..{second}"))


def test_a_unit_lies_in_its_function(tmp_path):
    old = module("one", "two")
    (unit,) = changed(tmp_path, {"a.py": old}, {"a.py": old.replace("two_1 = 1", "two_1 = 2 if x else 3")})
    assert (unit.symbol.name, unit.symbol.kind, unit.symbol.span) == ("two", "function", Span(11, 15))
    assert (unit.language, unit.change, unit.path) == ("python", "modified", "a.py")
    assert (unit.metrics.added, unit.metrics.removed, unit.metrics.hunks) == (1, 1, 1)
    assert unit.metrics.complexity == 1
    assert unit.metrics.fan_in == -1
    assert unit.new.first <= 13 <= unit.new.last


def test_near_hunks_of_one_function_are_one_unit(tmp_path):
    old = module("one", lines=NEAR + 40)
    near = old.replace("one_1 = 1\n", "one_1 = 11\n").replace("one_20 = 20\n", "one_20 = 21\n")
    far = old.replace("one_1 = 1\n", "one_1 = 11\n").replace(f"one_{NEAR + 20} = ", "other = ")
    (unit,) = changed(tmp_path / "near", {"a.py": old}, {"a.py": near})
    assert unit.metrics.hunks == len(unit.hunks) == 2
    assert [unit.symbol.name for unit in changed(tmp_path / "far", {"a.py": old}, {"a.py": far})] == [
        "one",
        "one",
    ]


def test_a_hunk_over_two_functions_is_cut(tmp_path):
    old = module("one", "two", lines=1)
    new = old.replace("one_0 = 0", "one_0 = 1").replace("two_0 = 0", "two_0 = 1")
    units = changed(tmp_path, {"a.py": old}, {"a.py": new})
    assert [unit.symbol.name for unit in units] == ["one", "two"]
    diff_lines = [line for unit in units for hunk in unit.hunks for line in hunk.lines]
    assert [line.new for line in diff_lines if line.new] == list(
        range(2, 2 + sum(1 for x in diff_lines if x.new))
    )


def test_functions_that_were_added_together_are_units_of_their_own(tmp_path):
    old = module("one")
    new = module("one", "two", "three")
    units = changed(tmp_path, {"a.py": old}, {"a.py": new})
    assert [(unit.symbol.name, "whole_function" in unit.tags) for unit in units] == [
        ("two", True),
        ("three", True),
    ]


def test_a_function_that_was_deleted_keeps_its_name(tmp_path):
    old = module("one", "two", "three")
    (unit,) = changed(tmp_path, {"a.py": old}, {"a.py": module("one", "three")})
    assert unit.symbol.name == "two"
    assert "whole_function" in unit.tags


def test_outside_of_functions_hunks_stay_apart(tmp_path):
    old = "".join(f"a{i} = {i}\n" for i in range(40))
    new = old.replace("a2 = 2\n", "a2 = 3\n").replace("a30 = 30\n", "a30 = 31\n")
    units = changed(tmp_path, {"a.py": old}, {"a.py": new})
    assert [unit.symbol for unit in units] == [None, None]


def test_new_files_are_whole_if_small_and_cut_if_not(tmp_path):
    small = module("one", "two")
    large = module(*(f"f{i}" for i in range(WHOLE_FILE // 5)))
    units = changed(tmp_path, {}, {"small.py": small, "large.py": large, "empty.py": ""})
    by_path = {path: [u for u in units if u.path == path] for path in ("small.py", "large.py", "empty.py")}
    assert len(by_path["small.py"]) == 1
    assert [u.symbol.name for u in by_path["large.py"] if u.symbol][:2] == ["f0", "f1"]
    assert sum(u.metrics.added for u in by_path["large.py"]) == large.count("\n")
    assert by_path["empty.py"][0].note == "an empty file"


def test_files_without_lines_have_a_unit(tmp_path):
    repo = Repo(tmp_path)
    repo.write("run.sh", "echo\n")
    repo.write("logo.png", b"\0\1")
    repo.commit({"old.py": module("one")})
    (repo.folder / "run.sh").chmod(0o755)
    repo.write("logo.png", b"\0\2")
    repo.git("mv", "old.py", "new.py")
    units = {u.path: u for u in build_units(*read_diff(repo.folder, "working"))}
    assert units["run.sh"].tags == ("mode",)
    assert units["run.sh"].note == "mode 100644 became 100755"
    assert "binary" in units["logo.png"].tags
    assert units["new.py"].note == "moved from old.py"
    assert units["new.py"].suggestion.level == "skip"
    assert units["new.py"].new == units["new.py"].old == Span(0, 0)


def test_deleted_files_are_not_skipped(tmp_path):
    units = changed(tmp_path, {"a.py": module("one"), "test_a.py": "def test_a():\n    assert 1\n"}, {})
    assert [(unit.path, unit.change, unit.metrics.added) for unit in units] == [
        ("a.py", "deleted", 0),
        ("test_a.py", "deleted", 0),
    ]
    assert units[1].risk == "high"
    assert units[0].old.last == units[0].metrics.removed
    assert units[0].new == Span(0, 0)


def test_a_merged_hunk_does_not_crash():
    """Hunks that were put together, and hunks of a merge with a column for each parent."""
    text = (
        "diff --cc x.py\nindex 1,2..3\n--- a/x.py\n+++ b/x.py\n@@@ -1,4 -1,3 +1,4 @@@ def f(x):\n"
        "  a\n- old\n -side\n++both\n +ours\n  z\n"
    )
    diff, versions = read_diff_text(text, "merge", None)
    (unit,) = build_units(diff, versions)
    assert unit.symbol.kind == "section"
    assert unit.symbol.name == "def f(x):"
    old = module("one", lines=60)
    new = old.replace("one_1 = 1\n", "").replace("one_20 = 20\n", "x\ny\n").replace("one_40 = 40\n", "")
    file = parse_diff(_diff_of(old, new))[0]
    (merged,) = build_units(Diff("t", (file,)), Texts({"a.py": old}, {"a.py": new}))
    assert merged.metrics.hunks == 3


def _diff_of(old: str, new: str) -> str:
    return "".join(
        difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), "a/a.py", "b/a.py")
    )


@pytest.mark.slow
def test_ids_are_equal_across_runs(tmp_path):
    repo = Repo(tmp_path)
    repo.commit({"a.py": module("one", "two"), "b.go": "package b\nfunc F() {}\n"})
    repo.write("a.py", module("one", "two", "three").replace("one_1 = 1", "one_1 = 2"))
    repo.write("b.go", "package b\nfunc F() { G() }\n")
    code = (
        "import pathlib, sys\nfrom holdfast.review.git_changes import read_diff\n"
        "from holdfast.review.units import build_units\n"
        "units = build_units(*read_diff(pathlib.Path(sys.argv[1]), 'working'))\n"
        "for u in units: print(u.id, u.tags, u.suggestion)\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(runs) == 1
    assert [row[:14] for row in runs.pop().splitlines()] == [
        unit.id for unit in build_units(*read_diff(tmp_path, "working"))
    ]


def test_ids_of_one_change_are_written_down():
    """A change here is a change for everyone who kept an id."""
    file = FileChange(path="a.txt", old_path="a.txt", change="added", hunks=(added_hunk("one\ntwo"),))
    (unit,) = build_units(Diff("t", (file,)), Texts({}, {}))
    assert unit.id == "u-52208206d4cb"


@pytest.mark.slow
def test_lines_above_do_not_change_ids(tmp_path):
    old = module("one", "two", lines=20)
    edit = ("two_5 = 5", "two_5 = 55")
    alone = changed(tmp_path / "a", {"a.py": old}, {"a.py": old.replace(*edit)})
    shifted = changed(tmp_path / "b", {"a.py": "# x\n" * 9 + old}, {"a.py": "# x\n" * 9 + old.replace(*edit)})
    beside = changed(tmp_path / "c", {"a.py": old}, {"a.py": ("# y\n" * 9 + old).replace(*edit)})
    assert alone[0].id == shifted[0].id == beside[-1].id
    assert alone[0].new != shifted[0].new


@pytest.mark.slow
def test_the_same_change_twice_has_two_ids_that_stay(tmp_path):
    def text(value):
        return "".join(
            f"def f{i}():\n    x = {value if i in (2, 30) else 0}\n    return x\n\n\n" for i in range(40)
        )

    first = changed(tmp_path / "a", {"a.py": text(0)}, {"a.py": text(1)})
    again = changed(tmp_path / "b", {"a.py": "\n" + text(0)}, {"a.py": "\n" + text(1)})
    assert len({unit.id for unit in first}) == 2
    assert [unit.id for unit in first] == [unit.id for unit in again]


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["one", "two", "three", "four"]), unique=True, max_size=4),
    st.lists(st.sampled_from(["one", "two", "five", "six"]), unique=True, max_size=4),
    st.integers(0, 30),
)
def test_units_hold_every_changed_line_once_and_in_order(old_names, new_names, lines):
    old, new = module(*old_names, lines=lines), module(*new_names, lines=lines + 1)
    files = parse_diff(_diff_of(old, new))
    units = build_units(Diff("t", files), Texts({"a.py": old}, {"a.py": new}))
    expected = [line for file in files for hunk in file.hunks for line in hunk.lines]
    assert [line for unit in units for hunk in unit.hunks for line in hunk.lines] == expected
    assert len({unit.id for unit in units}) == len(units)


def test_without_versions_headings_say_where():
    text = "--- a/x.py\n+++ b/x.py\n@@ -10,2 +10,2 @@ class A:\n a\n-b\n+c\n@@ -90 +90 @@\n-b\n+c\n"
    units = build_units(*read_diff_text(text, "t", None))
    assert [(u.symbol and (u.symbol.name, u.symbol.kind)) for u in units] == [("class A:", "section"), None]


def test_uses_are_counted_at_once(tmp_path):
    repo = Repo(tmp_path)
    old = module("alpha", "beta_gamma")
    repo.commit(
        {"a.py": old, "b.py": "import a\na.alpha(1)\na.alpha(2)\nalphabet = 1\n", ".gitignore": "skip\n"}
    )
    repo.write("skip", "alpha\n")
    repo.write("a.py", old.replace("alpha_1 = 1", "alpha_1 = 2").replace("gamma_1 = 1", "gamma_1 = 2"))
    asked = []

    def uses(names):
        asked.append(list(names))
        return count_uses(tmp_path, names)

    units = build_units(*read_diff(tmp_path, "working"), count_uses=uses)
    assert asked == [["alpha", "beta_gamma"]]
    assert {u.symbol.name: u.metrics.fan_in for u in units} == {"alpha": 2, "beta_gamma": 0}
    assert count_uses(tmp_path, ["get", "x", "operator==", "-e"]) == {}


@pytest.mark.slow
def test_ten_thousand_lines_and_two_thousand_files():
    files = [
        FileChange(
            path=f"d{i}/f{i}.py", old_path=f"d{i}/f{i}.py", change="added", hunks=(added_hunk(function("f")),)
        )
        for i in range(2000)
    ]
    large = module(*(f"g{i}" for i in range(400)), lines=20)
    files.append(FileChange(path="big.py", old_path="big.py", change="added", hunks=(added_hunk(large),)))
    texts = {file.path: function("f") for file in files} | {"big.py": large}
    units = build_units(Diff("t", tuple(files)), Texts({}, texts))
    assert large.count("\n") > 9000
    assert len([u for u in units if u.path == "big.py" and u.symbol]) == 400
    assert len({u.id for u in units}) == len(units) == 2000 + len([u for u in units if u.path == "big.py"])


@pytest.mark.slow
def test_the_projects_own_history():
    folder = Path(__file__).parents[2]
    if not (folder / ".git").exists():
        pytest.skip("this is not a clone")
    log = subprocess.run(
        ["git", "log", "--format=%H", "-4"], cwd=folder, capture_output=True, text=True, check=False
    ).stdout.split()
    if len(log) < 4:
        pytest.skip("the clone has no history")
    for commit in log[:3]:
        diff, versions = read_diff(folder, commit)
        units = build_units(diff, versions)
        assert {unit.path for unit in units} == {file.path for file in diff.files}
        assert len({unit.id for unit in units}) == len(units)


BISON = "/* A Bison parser, made by GNU Bison 3.8.2.  */\n\n"
FLEX = '#line 2 "scan.c"\n\n#define YY_INT_ALIGNED short int\n\n/* A lexical scanner generated by flex */\n'


@pytest.mark.parametrize(
    ("path", "head"),
    [
        ("src/parse.c", BISON),
        ("src/scan.c", FLEX),
        ("src/lex.yy.c", ""),
        ("vendor/a/a.c", ""),
        ("web/node_modules/a/a.js", ""),
        ("third_party/a.py", ""),
        ("api/shop_pb2.py", ""),
        ("api/shop_pb2_grpc.py", ""),
        ("api/shop.pb.go", ""),
        ("api/shop_grpc.pb.go", ""),
        ("web/app.min.js", ""),
        ("pnpm-lock.yaml", ""),
    ],
)
def test_what_nobody_wrote_is_one_unit_of_low_risk_and_comes_last(tmp_path, path, head):
    old = head + "".join(f"int password_{n}(void) {{ return {n}; }}\n\n\n\n\n\n\n\n\n" for n in range(40))
    new = (
        old.replace("return 1", "return 10").replace("return 2", "return 20").replace("return 3", "return 30")
    )
    before = {path: old, "src/own.py": "x = 1\n", "README.md": "one\n"}
    after = {path: new, "src/own.py": "x = 2\n", "README.md": "two\n"}
    units = changed(tmp_path, before, after)
    assert [unit.risk for unit in units if unit.path == path] == ["low"]
    ranked = ReviewReport(title="x", units=units).ranked_units()
    assert [unit.path for unit in ranked] == ["src/own.py", "README.md", path]
