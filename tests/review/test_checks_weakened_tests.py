"""Tests that a change takes away, and dependencies that do not go together, on real changes."""

import pytest

from support.review_values import check

SUBJECT = "def area(w, h):\n    return w * h\n\n\ndef edge(w, h):\n    return 2 * (w + h)\n"
TESTS = (
    "from area import area, edge\n\n\n"
    "def test_area():\n    assert area(2, 3) == 6\n    assert area(0, 3) == 0\n\n\n"
    "def test_edge():\n    assert edge(2, 3) == 10\n"
)


def rules(findings):
    return [finding.rule for finding in findings.ranked()]


def test_a_deleted_test_is_found_with_its_line_on_the_older_side(tmp_path):
    before = {"area.py": SUBJECT, "tests/test_area.py": TESTS}
    after = before | {"tests/test_area.py": TESTS[: TESTS.index("\n\ndef test_edge")]}
    found = check(tmp_path, before, after)
    assert rules(found) == ["deleted-test"]
    assert (found.kept[0].side, found.kept[0].line) == ("old", 9)
    assert found.kept[0].evidence == ("def test_edge():",)
    assert "test_edge" in found.kept[0].claim


def test_a_deleted_test_file_is_found(tmp_path):
    before = {"area.py": SUBJECT, "tests/test_area.py": TESTS}
    found = check(tmp_path, before, {"area.py": SUBJECT})
    assert rules(found) == ["deleted-test"]
    assert found.kept[0].claim.startswith("2 tests are deleted")


@pytest.mark.parametrize(
    "after",
    [
        {"tests/test_other.py": TESTS},
        {"area.py": SUBJECT, "tests/test_area.py": TESTS.replace("test_edge", "test_the_edge")},
        {
            "area.py": SUBJECT,
            "tests/test_area.py": TESTS.replace(
                "def test_edge():\n    assert edge(2, 3)", "def test_rim():\n    assert 10"
            ),
        },
        {
            "area.py": SUBJECT[: SUBJECT.index("\n\ndef edge")],
            "tests/test_area.py": TESTS[: TESTS.index("\n\ndef test_edge")],
        },
        {},
    ],
    ids=["moved", "renamed", "rewritten", "subject-function-gone", "subject-file-gone"],
)
def test_a_test_that_moved_or_lost_its_subject_may_go(tmp_path, after):
    before = {"README": "", "area.py": SUBJECT, "tests/test_area.py": TESTS}
    assert "deleted-test" not in rules(check(tmp_path, before, {"README": ""} | after, "weakened_tests"))


def test_a_javascript_test_that_went_is_found(tmp_path):
    after = "it('adds', () => {\n  expect(add(1, 2)).toBe(3)\n})\n"
    before = after + "\nit('takes away', () => {\n  expect(sub(1, 2)).toBe(-1)\n})\n"
    found = check(tmp_path, {"a.test.ts": before}, {"a.test.ts": after}, "weakened_tests")
    assert rules(found) == ["deleted-test"]
    assert "takes away" in found.kept[0].claim


@pytest.mark.parametrize(
    ("path", "line", "rule"),
    [
        ("test_a.py", "@pytest.mark.skip(reason='later')", "skipped-test"),
        ("a.test.js", "it.skip('adds', () => {", "skipped-test"),
        ("a.test.js", "it.only('adds', () => {", "focused-test"),
        ("a.spec.ts", "fdescribe('all', () => {", "focused-test"),
        ("tests/a.rs", "#[ignore]", "skipped-test"),
    ],
)
def test_tests_that_are_switched_off_or_run_alone_are_found(tmp_path, path, line, rule):
    rest = "def test_a():\n    assert a() == 1\n" if path.endswith(".py") else "rest\n"
    assert rules(check(tmp_path, {path: rest}, {path: line + "\n" + rest}, "weakened_tests")) == [rule]


@pytest.mark.parametrize(
    "line",
    [
        "@pytest.mark.skipif(sys.platform == 'win32', reason='posix')",
        "@pytest.mark.skipunless(x)",
        "S = '''\n@pytest.mark.skip\n'''",
    ],
    ids=["skipif", "other", "string"],
)
def test_a_condition_or_a_string_switches_nothing_off(tmp_path, line):
    rest = "def test_a():\n    assert a() == 1\n"
    assert (
        rules(check(tmp_path, {"test_a.py": rest}, {"test_a.py": line + "\n" + rest}, "weakened_tests")) == []
    )


@pytest.mark.parametrize(
    ("after", "severity"),
    [
        ("def test_a():\n    x = f()\n    y = g()\n", "low"),
        ("def test_a():\n    x = f()\n    # assert x == 1\n    y = g()\n", "medium"),
        ("def test_a():\n    x = f()\n    assert True\n    y = g()\n", "medium"),
    ],
    ids=["removed", "commented", "hollow"],
)
def test_an_assertion_that_went_is_found(tmp_path, after, severity):
    before = "def test_a():\n    x = f()\n    assert x == 1\n    y = g()\n"
    found = check(tmp_path, {"test_a.py": before}, {"test_a.py": after}, "weakened_tests")
    assert [(f.rule, f.severity) for f in found.kept] == [("weakened-test", severity)]


def test_an_assertion_that_changed_or_moved_is_let_pass(tmp_path):
    before = "def test_a():\n    x = f()\n    assert x == 1\n    y = g()\n"
    for at, after in enumerate(
        (before.replace("== 1", "== 2"), "def test_a():\n    x = f()\n    y = g()\n    assert x == 1\n")
    ):
        assert (
            rules(check(tmp_path / str(at), {"test_a.py": before}, {"test_a.py": after}, "weakened_tests"))
            == []
        )


# dependencies

PYPROJECT = '[project]\nname = "a"\ndependencies = ["click>=8"]\n'
LOCK = '[[package]]\nname = "click"\nversion = "8.1"\n'


def test_a_manifest_without_its_lock_is_found(tmp_path):
    before = {"pyproject.toml": PYPROJECT, "uv.lock": LOCK}
    after = before | {"pyproject.toml": PYPROJECT.replace("click>=8", "click>=8.2")}
    found = check(tmp_path, before, after)
    assert rules(found) == ["lock-not-updated"]
    assert "`uv.lock`" in found.kept[0].claim
    assert found.kept[0].line == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("8", "9")}),
        (
            {"pyproject.toml": PYPROJECT, "uv.lock": LOCK},
            {"pyproject.toml": PYPROJECT.replace("8", "9"), "uv.lock": LOCK + "\n"},
        ),
        (
            {"pyproject.toml": PYPROJECT, "uv.lock": LOCK},
            {"pyproject.toml": PYPROJECT + "[tool.ruff]\nline-length = 9\n", "uv.lock": LOCK},
        ),
        (
            {"pyproject.toml": PYPROJECT, "uv.lock": LOCK},
            {"pyproject.toml": PYPROJECT, "uv.lock": LOCK.replace("8.1", "8.2")},
        ),
        (
            {"package.json": '{"version": "1"}', "yarn.lock": ""},
            {"package.json": '{"version": "2"}', "yarn.lock": ""},
        ),
    ],
    ids=["no-lock", "both", "other-part", "lock-upgraded", "version"],
)
def test_what_goes_together_is_let_pass(tmp_path, before, after):
    assert rules(check(tmp_path, before, after, "dependencies")) == []


@pytest.mark.parametrize(
    ("manifest", "lock", "before", "after"),
    [
        (
            "package.json",
            "package-lock.json",
            '{"dependencies": {\n"a": "^1.0.0"\n}}',
            '{"dependencies": {\n"a": "^2.0.0"\n}}',
        ),
        (
            "go.mod",
            "go.sum",
            "module x\n\nrequire github.com/a/b v1.0.0\n",
            "module x\n\nrequire github.com/a/b v1.1.0\n",
        ),
        ("Cargo.toml", "Cargo.lock", '[dependencies]\na = "1"\n', '[dependencies]\na = "2"\n'),
        ("Gemfile", "Gemfile.lock", "gem 'a', '1'\n", "gem 'a', '2'\n"),
        ("web/package.json", "yarn.lock", '{"dependencies": {}}', '{"dependencies": {"a": "1.0.0"}}'),
    ],
    ids=["npm", "go", "cargo", "gems", "workspace"],
)
def test_every_kind_of_manifest_is_read(tmp_path, manifest, lock, before, after):
    files = {manifest: before, lock: "x\n"}
    assert rules(check(tmp_path, files, files | {manifest: after}, "dependencies")) == ["lock-not-updated"]


def test_a_new_package_in_a_lock_alone_is_found(tmp_path):
    before = {"pyproject.toml": PYPROJECT, "uv.lock": LOCK}
    after = before | {"uv.lock": LOCK + '\n[[package]]\nname = "colourama"\nversion = "1"\n'}
    found = check(tmp_path, before, after)
    assert rules(found) == ["lock-without-manifest"]
    assert "colourama" in found.kept[0].claim


@pytest.mark.parametrize(
    ("path", "line", "severity"),
    [
        ("requirements.txt", "tool @ git+https://example.org/tool.git", "medium"),
        ("requirements.txt", "tool @ http://example.org/tool.zip", "high"),
        ("requirements.txt", "tool", "low"),
        ("go.mod", "replace github.com/a/b => ../b", "medium"),
    ],
)
def test_a_dependency_that_can_change_is_found(tmp_path, path, line, severity):
    before = "a==1.0\nb==2.0\n" if path.endswith("txt") else "module x\n"
    found = check(tmp_path, {path: before}, {path: before + line + "\n"}, "dependencies")
    assert [(f.rule, f.severity, f.line) for f in found.kept] == [
        ("moving-dependency", severity, before.count("\n") + 1)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "tool==1.2",
        "tool @ git+https://example.org/tool.git@" + "a" * 40,
        "tool @ git+https://example.org/tool.git@v1.2.3",
        "# tool",
    ],
    ids=["pinned", "commit", "tag", "comment"],
)
def test_a_dependency_that_stays_is_let_pass(tmp_path, line):
    before = "a==1.0\nb==2.0\n"
    assert (
        rules(
            check(
                tmp_path,
                {"requirements.txt": before},
                {"requirements.txt": before + line + "\n"},
                "dependencies",
            )
        )
        == []
    )


def test_tests_that_are_written_again_in_another_file_are_not_deleted(tmp_path):
    old = "def test_one():\n    assert add(1, 1) == 2\n\n\ndef test_two():\n    assert add(2, 2) == 4\n"
    new = "def test_sum_of_ones():\n    assert total([1, 1]) == 2\n\n\ndef test_sum_of_twos():\n    pass\n"
    before = {"tests/test_a.py": old + "\nX = 1\n"}
    after = {"tests/test_a.py": "\nX = 1\n", "tests/test_b.py": new}
    assert check(tmp_path, before, after, "weakened_tests").kept == ()


def test_the_test_of_a_name_that_the_code_no_longer_has_may_go(tmp_path):
    test = "it('reads a cached value', () => {\n  expect(store.readCached('a')).toBe(1)\n})\n"
    before = {"a.ts": "const x = { readCached: 1 }\n", "a.test.ts": test + "const y = 1\n"}
    after = {"a.ts": "const x = {}\n", "a.test.ts": "const y = 1\n"}
    assert check(tmp_path / "gone", before, after, "weakened_tests").kept == ()
    found = check(tmp_path / "there", before, {**after, "a.ts": before["a.ts"]}, "weakened_tests").kept
    assert [one.rule for one in found] == ["deleted-test"]
