"""Which function stands where, in ten languages, broken code included."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.review.file_types import detect_language
from holdfast.review.grammars import QUERIES, load_grammar, missing_grammars
from holdfast.review.outline import (
    MOST_CHARACTERS,
    MOST_FAILURES,
    Outliner,
    innermost_symbol,
    parse_outline,
)
from holdfast.review.unit import Span
from support.review_code import CODE


def symbols_in(text, language):
    outline = parse_outline(text, language)
    return outline.symbols if outline else ()


def shown(symbols):
    return [f"{s.name} {s.kind} {s.span.first} {s.span.last}" for s in symbols]


@pytest.mark.parametrize("language", CODE)
def test_symbols(language):
    text, expected = CODE[language]
    assert shown(symbols_in(text, language)) == expected
    assert set(CODE) == set(QUERIES)


def test_the_smallest_symbol_around_lines():
    symbols = symbols_in(CODE["python"][0], "python")
    assert innermost_symbol(symbols, 11, 11).name == "A.m.inner"
    assert innermost_symbol(symbols, 11, 12).name == "A.m"
    assert innermost_symbol(symbols, 6, 6).name == "A"
    assert innermost_symbol(symbols, 12, 14) is None
    assert innermost_symbol((), 1, 1) is None


def test_branches_imports_comments_and_calls():
    text = (
        "import a\nfrom b import (\n    c,\n)  # behind\n\n\ndef f(x):\n    '''doc\n    more'''\n    # note\n"
        "    if x and y:  # why\n        log.info(\n            x,\n        )\n    return [i for i in x if i]\n"
    )
    outline = parse_outline(text, "python")
    assert [line for line in range(1, 16) for _ in range(outline.branches_on(line))] == [11, 11, 15, 15]
    assert outline.imports == {1, 2, 3}
    assert outline.comments == {8, 9, 10}
    assert [(span, head[:8]) for span, head in outline.calls] == [(Span(12, 14), "log.info")]


@pytest.mark.parametrize("language", CODE)
def test_half_a_function_and_conflict_markers(language):
    text = CODE[language][0]
    half = text[: len(text) // 2]
    first, rest = text.split("\n", 1)
    marked = f"<<<<<<< HEAD\n{first}\n=======\n{first}\n>>>>>>> other\n{rest}"
    for broken in ("", "\n", half, marked, half[::-1], "\0" + text, "é中" + text):
        for symbol in symbols_in(broken, language):
            assert 1 <= symbol.span.first <= symbol.span.last <= broken.count("\n") + 1
    assert symbols_in(marked, language), "what is whole around a conflict is still found"


@settings(max_examples=60)
@given(st.sampled_from(sorted(CODE)), st.integers(0, 400), st.integers(0, 400), st.text(max_size=8))
def test_whatever_is_cut_out_spans_stay_inside_of_the_text(language, first, end, put):
    text = CODE[language][0]
    broken = text[:first] + put + text[end:]
    outline = parse_outline(broken, language)
    last = broken.count("\n") + 1
    assert all(1 <= s.span.first <= s.span.last <= last for s in outline.symbols)
    assert outline.imports | outline.comments <= set(range(1, last + 1))


def test_many_lines_keep_their_numbers():
    """Numbers beyond the small ones that Python keeps once for all."""
    text = "".join(f"def f{i}():\n    return {i}\n\n\n" for i in range(3000))
    symbols = symbols_in(text, "python")
    assert [s.span.first for s in symbols] == list(range(1, 12000, 4))


def test_a_text_that_is_too_large_has_no_outline():
    assert parse_outline("x = 1\n" * (MOST_CHARACTERS // 6 + 1), "python") is None


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/b.py", None, "python"),
        ("a.d.ts", None, "typescript"),
        ("A.JSX", None, "javascript"),
        ("x.h", "int f(void);\n", "c"),
        ("x.h", "namespace a {\n}\n", "cpp"),
        ("x.h", None, "c"),
        ("bin/tool", "#!/usr/bin/env -S python3 -u\n", "python"),
        ("bin/tool", "#!/bin/sh\n", "shell"),
        ("bin/tool", "#!/usr/bin/node\n", "javascript"),
        ("bin/tool", "hello", ""),
        ("bin/tool", None, ""),
        ("Dockerfile", None, "dockerfile"),
        ("Gemfile", None, "ruby"),
        (".gitignore", None, ""),
        (".env.local", None, "ini"),
        ("x.unknown", "#!/bin/sh\n", ""),
    ],
)
def test_languages(path, text, language):
    assert detect_language(path, text) == language


def test_without_the_extra_there_is_a_sentence_and_no_outline():
    code = (
        "import sys\nsys.modules['semble_grammars'] = None\n"
        "from holdfast.review.grammars import missing_grammars\n"
        "from holdfast.review.outline import parse_outline\n"
        "print(missing_grammars(), parse_outline('def f(): pass', 'python'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "`pip install '.[review]'` in a checkout" in done.stdout
    assert done.stdout.endswith(" None\n")
    assert missing_grammars() == ""


def test_grammars_are_loaded_when_they_are_needed():
    code = "import sys, holdfast.review.units; print({'tree_sitter', 'semble_grammars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
    assert load_grammar("python") is load_grammar("python")
    assert load_grammar("cobol") is None


PATIENT = 120.0
"""Seconds in which any machine reads a short text, however busy it is."""


@pytest.mark.parametrize("language", CODE)
def test_another_process_reads_the_same(language):
    text = CODE[language][0]
    with Outliner(seconds=PATIENT) as outliner:
        assert outliner.outline(text, language) == parse_outline(text, language)
        assert outliner.outline(None, language) is outliner.outline(text, "cobol") is None
        assert outliner.failures == 0


def test_a_text_that_is_not_read_in_time_has_no_outline_and_stops_nothing():
    """About five hundred kilobytes take longer than a hundredth of a second, on any machine."""
    slow = CODE["cpp"][0] * 4000
    with Outliner(seconds=0.01) as outliner:
        for _ in range(MOST_FAILURES + 1):
            assert outliner.outline(slow, "cpp") is None
        assert outliner.failures == MOST_FAILURES


def test_a_process_that_dies_is_started_again():
    text = CODE["go"][0]
    with Outliner(seconds=PATIENT) as outliner:
        first = outliner.outline(text, "go")
        outliner._process.kill()
        outliner._process.wait()
        assert outliner.outline(text, "go") is None
        assert outliner.outline(text, "go") == first
    assert outliner._process is None


@pytest.mark.slow
def test_texts_are_asked_for_ahead_and_taken_in_order():
    asked = [(text * 40, language) for language, (text, _) in CODE.items()] * 5
    with Outliner(seconds=PATIENT) as outliner:
        for text, language in asked:
            outliner.submit(text, language)
            outliner.submit(None, language)
        for text, language in asked:
            assert outliner.take() == parse_outline(text, language)
            assert outliner.take() is None
        assert outliner.failures == 0


def test_what_was_asked_behind_a_text_that_is_not_read_is_read():
    text = CODE["go"][0]
    with Outliner(seconds=PATIENT) as outliner:
        first = outliner.outline(text, "go")
        outliner._process.kill()
        outliner._process.wait()
        for _ in range(4):
            outliner.submit(text, "go")
        assert [outliner.take() for _ in range(4)] == [None, first, first, first]
        assert outliner.failures == 1


def test_a_module_in_the_folder_under_review_is_not_loaded(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)
    with Outliner(seconds=PATIENT) as outliner:
        assert outliner.outline(CODE["go"][0], "go") is not None


@pytest.mark.parametrize("language", ["javascript", "typescript", "tsx"])
def test_blocks_of_tests_are_functions_and_their_groups_are_classes(language):
    text = (
        "describe('cart', () => {\n  it('adds', async () => {\n    add()\n  })\n"
        "  test.each([1])(`takes ${1}`, function () {\n    add()\n  })\n  run('all', () => {})\n})\n"
        "test.skip('is empty', () => {})\nit('is planned')\n"
    )
    assert shown(symbols_in(text, language)) == [
        "cart class 1 9",
        "cart.adds method 2 4",
        "cart.takes ${1} method 5 7",
        "is empty function 10 10",
    ]
