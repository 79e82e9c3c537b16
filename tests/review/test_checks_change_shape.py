"""The change as a whole: its size, and formatting beside other changes."""

import pytest

from holdfast.review.review import start_review
from support.review_repos import Repo

FORMATTED = "".join(f"function f{n}(a) {{\n  return a + {n};\n}}\n\n" for n in range(12))
CODE = "def price(order):\n    return order.total\n"


@pytest.fixture
def repo(tmp_path):
    made = Repo(tmp_path / "repo")
    made.commit({"src/shop.py": CODE, "src/sums.js": FORMATTED, "tests/test_shop.py": CODE})
    return made


def found(repo):
    kept = start_review(repo.folder, "working").findings.kept
    return [(one.path, one.rule) for one in kept if one.rule in ("large-change", "mixed-formatting")]


def lines(count):
    return "".join(f"def f{n}(a):\n    return a * {n}\n" for n in range(count // 2))


def test_a_very_large_change_is_named_at_its_largest_file(repo):
    repo.write("src/shop.py", CODE + lines(200))
    repo.write("src/new/large.py", lines(900))
    assert found(repo) == [("src/new/large.py", "large-change")]
    (finding,) = start_review(repo.folder, "working").findings.kept
    assert finding.suggestion == "Split it: 1,100 lines change in `src/new` (900), `src` (200)."
    repo.write("src/new/other.py", lines(100))
    (later,) = start_review(repo.folder, "working").findings.kept
    assert later.id == finding.id


def test_tests_documents_and_generated_files_have_no_size(repo):
    repo.write("src/shop.py", CODE + lines(900))
    repo.write("tests/test_large.py", lines(3000))
    repo.write("docs/large.md", "words\n" * 3000)
    repo.write("package-lock.json", '{"a": 1,\n' * 3000)
    assert found(repo) == []


def test_formatting_beside_other_changes_is_named(repo):
    repo.write("src/sums.js", FORMATTED.replace("  return", "    return"))
    assert found(repo) == []
    repo.write("src/shop.py", CODE.replace("total", "total * 2"))
    assert found(repo) == [("src/sums.js", "mixed-formatting")]
    (finding,) = start_review(repo.folder, "working").findings.kept
    assert (
        finding.suggestion == "Commit the formatting by itself: 24 lines in 1 file change only in whitespace."
    )


def test_little_formatting_and_lines_indented_by_a_change_are_not_named(repo):
    repo.write("src/shop.py", CODE.replace("total", "total * 2"))
    repo.write("src/sums.js", FORMATTED.replace("  return a + 1;\n", "    return a + 1;\n"))
    assert found(repo) == []
    indented = "".join(f"    {line}\n" if line else "\n" for line in FORMATTED.splitlines())
    repo.write("src/sums.js", "if (on) {\n" + indented + "}\n")
    assert found(repo) == []
