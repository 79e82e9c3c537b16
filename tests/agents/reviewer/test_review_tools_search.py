"""list_project_files, search_in_project, callers_of and get_dependencies on real trees."""

import time

import pytest

from holdfast.agents.reviewer.tools.imports import parse_imports


def test_files_are_listed_with_sizes_and_marks(runner):
    found = runner.run("list_project_files")
    assert found.status == "success"
    names = ["new_name.py", "pkg/main.py", "pkg/parser.py", "pkg/words.py"]
    sizes = {name: len((runner.review.root / name).read_bytes()) for name in names}
    assert found.text.split("\n") == [
        "Found 6 files for `**/*` in `.`.",
        ".gitignore (7 bytes)",
        f"new_name.py ({sizes['new_name.py']} bytes) (changed)",
        "pkg/__init__.py (0 bytes)",
        f"pkg/main.py ({sizes['pkg/main.py']} bytes)",
        f"pkg/parser.py ({sizes['pkg/parser.py']} bytes) (changed)",
        f"pkg/words.py ({sizes['pkg/words.py']} bytes)",
        "(deleted by the change: gone.py)",
    ]
    assert found.data["files"][1] == {"path": "new_name.py", "size": sizes["new_name.py"], "changed": True}


def test_a_listing_that_is_cut_is_partial_and_has_the_true_total(runner):
    found = runner.run("list_project_files", path="pkg", pattern="*.py", limit=2)
    assert found.status == "partial"
    assert (found.data["total_entries"], len(found.data["files"])) == (4, 2)
    assert "2 of 4 files are shown" in found.text
    assert "gone.py" not in found.text


def test_a_search_puts_changed_files_first_and_leaves_room_for_others(runner):
    found = runner.run("search_in_project", query="parse")
    assert found.data["matches"][0]["file"] == "pkg/parser.py"
    assert (found.data["total_matches"], found.data["total_files"]) == (5, 2)
    assert "pkg/main.py:7:         return parse(text)" in found.text
    assert "(changed by this diff: `pkg/parser.py`)" in found.text
    assert "build/out.py" not in found.text


def test_a_search_that_is_cut_says_so_and_still_shows_other_files(changed, runner_of):
    files = {"a.py": "needle\n" * 300, "b.py": "needle\n"}
    runner = runner_of(changed({"a.py": "x\n", "b.py": "needle\n"}, {"a.py": files["a.py"]}, ()).folder)
    found = runner.run("search_in_project", query="needle", limit=10)
    assert found.status == "partial"
    assert found.data["total_matches"] == 301
    assert len(found.data["matches"]) == 10
    assert [match["file"] for match in found.data["matches"]][-1] == "b.py"
    assert "10 of 301 matching lines are shown" in found.text


def test_a_query_is_plain_text_unless_it_is_said_to_be_a_pattern(runner):
    assert runner.run("search_in_project", query="parse(text)").data["total_matches"] == 2
    assert runner.run("search_in_project", query="parse\\(\\w+\\)", is_regex=True).data["total_matches"] == 2
    assert runner.run("search_in_project", query="parse(", is_regex=True).error.code == "INVALID_PARAM"
    assert runner.run("search_in_project", query="a\nb").error.code == "INVALID_PARAM"
    assert runner.run("search_in_project", query="nowhere at all").data["total_matches"] == 0


def test_what_is_searched_on_the_disk_and_not_under_review_is_said(changed, runner_of):
    repo = changed()
    repo.commit()
    repo.write("pkg/parser.py", "x = 1\nparse = 'else'\n")
    found = runner_of(repo.folder, "HEAD").run("search_in_project", query="parse")
    assert "differ on disk from the versions under review: `pkg/parser.py`" in found.text


def test_callers_stand_with_the_function_they_are_in(runner):
    found = runner.run("callers_of", symbol="parse")
    assert found.text.split("\n") == [
        "`parse` is used in 3 places in 1 file; the word occurs in 5 lines of 2 files.",
        "defined: pkg/parser.py:5: def parse(text, sep=None):",
        "pkg/main.py:1: imported: from pkg.parser import parse",
        "pkg/main.py:7: in App.start:         return parse(text)",
        "pkg/main.py:11: in run:     return parse(text)",
        "(changed by this diff: `pkg/parser.py`)",
        "(1 line of comments with the name left out)",
    ]
    assert found.data["total_uses"] == 3
    assert [use["inside"] for use in found.data["uses"]] == ["", "App.start", "run"]


@pytest.mark.slow
def test_of_a_method_its_last_name_is_looked_for(runner):
    for symbol in ("App.start", "App::start", "App#start", "start()"):
        found = runner.run("callers_of", symbol=symbol)
        assert [place["line"] for place in found.data["definitions"]] == [5]
        assert found.data["total_uses"] == 0


@pytest.mark.slow
def test_a_name_is_a_word_and_no_pattern(changed, runner_of):
    files = {"a.rb": "def save!\nend\nsave!\nsave\nunsave!\n", "b.py": "parse = 1\nparser = 2\np.rse\n"}
    runner = runner_of(changed({"x": "x\n"}, files, ()).folder)
    assert runner.run("callers_of", symbol="save!").data["total_matches"] == 2
    assert runner.run("callers_of", symbol="parse").data["total_matches"] == 1
    assert runner.run("callers_of", symbol="p.*").data["total_matches"] == 0


@pytest.mark.slow
def test_many_callers_are_capped_with_true_totals(changed, runner_of):
    files = {f"f{n:03}.py": "from a import used\n\n\ndef g():\n    used()\n" for n in range(250)}
    runner = runner_of(changed({"a.py": "def used():\n    pass\n"}, files, ()).folder)
    found = runner.run("callers_of", symbol="used")
    assert found.status == "partial"
    assert found.data["total_matches"] == 501
    assert len(found.data["uses"]) == 80
    assert "at least" in found.text
    assert len(found.text) < 10_000


def imported(envelope):
    return {one["target"]: one["files"] for one in envelope.data["imports"]}


def importers(envelope):
    return [one["file"] for one in envelope.data["imported_by"]]


@pytest.mark.slow
def test_python_imports_are_resolved_both_ways(changed, runner_of):
    files = {
        "src/app/__init__.py": "from .core import run\n",
        "src/app/core.py": (
            '"""Not one:\nimport nothing\n"""\nimport os, json as j\nfrom . import util\nfrom .deep.leaf import (\n'
            "    leaf,  # a comment\n    other,\n)\nfrom app.deep import leaf as l2\nimport app.util\n"
        ),
        "src/app/util.py": "def util(): pass\n",
        "src/app/deep/__init__.py": "",
        "src/app/deep/leaf.py": "from ..util import util\nfrom .. import core\n",
        "tests/test_core.py": "from app.core import run\n",
        "scripts/tool.py": "import helper\n",
        "scripts/helper.py": "core = 1\n",
    }
    runner = runner_of(changed({"x": "x\n"}, files, ()).folder)
    found = runner.run("get_dependencies", path="src/app/core.py")
    assert imported(found) == {
        "os": [],
        "json": [],
        ".": ["src/app/util.py"],
        ".deep.leaf": ["src/app/deep/leaf.py"],
        "app.deep": ["src/app/deep/leaf.py"],
        "app.util": ["src/app/util.py"],
    }
    assert importers(found) == ["src/app/__init__.py", "src/app/deep/leaf.py", "tests/test_core.py"]
    assert "5: . (util) -> src/app/util.py" in found.text
    assert importers(runner.run("get_dependencies", path="scripts/helper.py")) == ["scripts/tool.py"]
    assert importers(runner.run("get_dependencies", path="src/app/util.py")) == [
        "src/app/core.py",
        "src/app/deep/leaf.py",
    ]


@pytest.mark.slow
def test_script_imports_are_resolved_both_ways(changed, runner_of):
    files = {
        "src/app.ts": (
            'import { a } from "./lib/a";\nimport type { B } from "@/lib/b.js";\nexport * from "./widgets";\n'
            "import React from 'react';\nconst c = require('./c');\n"
            "const d = await import('./lib/a');\n// from './no'\n"
        ),
        "src/lib/a.ts": "export const a = 1;\n",
        "src/lib/b.ts": 'import { a } from "./a.js";\n',
        "src/widgets/index.tsx": "export {};\n",
        "src/c.js": "module.exports = 1;\n",
    }
    runner = runner_of(changed({"x": "x\n"}, files, ()).folder)
    found = runner.run("get_dependencies", path="src/app.ts")
    assert imported(found) == {
        "./lib/a": ["src/lib/a.ts"],
        "@/lib/b.js": ["src/lib/b.ts"],
        "./widgets": ["src/widgets/index.tsx"],
        "react": [],
        "./c": ["src/c.js"],
    }
    assert importers(runner.run("get_dependencies", path="src/lib/a.ts")) == ["src/app.ts", "src/lib/b.ts"]
    assert importers(runner.run("get_dependencies", path="src/widgets/index.tsx")) == ["src/app.ts"]


@pytest.mark.slow
def test_go_imports_are_resolved_both_ways(changed, runner_of):
    files = {
        "go.mod": "module example.org/shop\n\ngo 1.22\n",
        "main.go": 'package main\n\nimport (\n\t"fmt"\n\tst "example.org/shop/store"\n)\n\nfunc main() {}\n',
        "store/store.go": "package store\n",
        "store/more.go": 'package store\n\nimport "strings"\n',
    }
    runner = runner_of(changed({"x": "x\n"}, files, ()).folder)
    found = runner.run("get_dependencies", path="main.go")
    assert imported(found) == {"fmt": [], "example.org/shop/store": ["store/more.go", "store/store.go"]}
    assert importers(runner.run("get_dependencies", path="store/more.go")) == ["main.go"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text", "other", "target"),
    [
        ("src/a.c", '#include "b.h"\n#include <stdio.h>\n', "include/b.h", "b.h"),
        ("src/a/b/C.java", "package a.b;\nimport a.x.D;\n", "src/a/x/D.java", "a.x.D"),
        ("src/main.rs", "mod store;\nuse crate::store::Item;\n", "src/store.rs", "store"),
        ("a.rb", "require_relative 'lib/b'\n", "lib/b.rb", "require_relative 'lib/b"),
    ],
    ids=["c", "java", "rust", "ruby"],
)
def test_other_languages_are_resolved_by_name(changed, runner_of, path, text, other, target):
    runner = runner_of(changed({"x": "x\n"}, {path: text, other: "x\n"}, ()).folder)
    assert imported(runner.run("get_dependencies", path=path))[target] == [other]
    assert importers(runner.run("get_dependencies", path=other)) == [path]


def test_a_deleted_file_has_its_old_imports_and_those_that_still_import_it(changed, runner_of):
    before = {"gone.py": "import kept\n", "kept.py": "", "user.py": "import gone\n"}
    runner = runner_of(changed(before, {}, ("gone.py",)).folder)
    found = runner.run("get_dependencies", path="gone.py")
    assert imported(found) == {"kept": ["kept.py"]}
    assert importers(found) == ["user.py"]


def test_a_file_without_a_known_language_is_said(changed, runner_of):
    runner = runner_of(changed({"a.xyz": "x\n"}, {"a.xyz": "y\n"}, ()).folder)
    assert runner.run("get_dependencies", path="a.xyz").error.code == "INVALID_PARAM"


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("python", "from a import (" * 40_000),
        ("python", "from a import (\n" * 40_000),
        ("python", "import " + "a," * 100_000),
        ("script", "import export from " * 40_000),
        ("script", "from" + " " * 300_000),
        ("go", "import (\n" + '"a\n' * 50_000),
        ("c", "#" + " " * 300_000),
        ("rust", "pub(" * 50_000),
    ],
    ids=lambda value: value[:20].strip(),
)
def test_no_text_takes_long_to_read_imports_from(family, text):
    began = time.process_time()
    parse_imports(text, family)
    assert time.process_time() - began < 60


def test_an_import_that_a_backslash_continues_is_read_whole():
    found = parse_imports("from pkg.parser import parse, \\\n    tokens\nimport os\n", "python")
    assert [(one.line, one.target, one.names) for one in found] == [
        (1, "pkg.parser", ("parse", "tokens")),
        (3, "os", ()),
    ]
