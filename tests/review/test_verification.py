"""A finding is kept where it can be shown, in its place, without secrets, with a patch that applies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.review.diff import DiffLine, Hunk
from holdfast.review.findings import RejectedFinding, Sides, VerifiedFinding, verify_finding
from holdfast.review.patches import write_patch
from support.review_values import NOTHING, Texts, change, finding, unit

TOKEN = "ghp_" + "R7wQ2nV9xK4mB8tL1cY6zJ3pD5sF0gHaUeXo"
TEXT = (
    "def first(x):\n    for i in x:\n        use(i)\n\n\ndef second(x):\n    for i in x:\n        drop(i)\n"
)
HUNK = Hunk(
    7,
    1,
    7,
    2,
    "def second(x):",
    (DiffLine(" ", 7, 7, "    for i in x:"), DiffLine("+", 0, 8, "        drop(i)")),
)
UNITS = [unit("u-1", "a.py", HUNK), unit("u-2", "b.bin", None)]
SIDES = Sides(UNITS, Texts({"a.py": TEXT}, {"a.py": TEXT}))


def kept(outcome):
    assert isinstance(outcome, VerifiedFinding), outcome
    return outcome.finding


def test_an_exact_quote_stays_where_it_is():
    one = kept(verify_finding(finding(line=8, last_line=8, evidence=("        drop(i)",)), SIDES))
    assert (one.line, one.last_line, one.evidence, one.unit) == (8, 8, ("        drop(i)",), "u-1")
    assert one.id.startswith("f-")
    assert len(one.id) == 14


def test_space_around_a_quote_is_corrected():
    one = kept(verify_finding(finding(line=7, last_line=8, evidence=("for i in x:", "  drop(i)  ")), SIDES))
    assert one.evidence == ("    for i in x:", "        drop(i)")
    assert (one.line, one.last_line) == (7, 8)


@pytest.mark.parametrize(
    "quote", ["+        drop(i)", "8\t        drop(i)", "8: drop(i)", "     8→        drop(i)"]
)
def test_signs_and_line_numbers_of_a_quote_are_taken_off(quote):
    assert kept(verify_finding(finding(line=8, last_line=8, evidence=(quote,)), SIDES)).evidence == (
        "        drop(i)",
    )


@pytest.mark.parametrize("line", [1, 3, 99, 0, -4])
def test_a_quote_that_stands_elsewhere_takes_the_finding_there(line):
    one = kept(verify_finding(finding(line=line, last_line=line, evidence=("        drop(i)",)), SIDES))
    assert (one.line, one.last_line) == (8, 8)


def test_of_two_places_the_nearer_is_meant():
    near = kept(verify_finding(finding(line=3, last_line=3, evidence=("    for i in x:",)), SIDES))
    far = kept(verify_finding(finding(line=6, last_line=6, evidence=("    for i in x:",)), SIDES))
    assert (near.line, far.line) == (2, 7)
    assert near.id != far.id


def place_of(text, quotes, line):
    """The lines that the evidence is found on; None if it is rejected."""
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    outcome = verify_finding(finding(line=line, last_line=line, evidence=quotes), sides)
    if isinstance(outcome, RejectedFinding):
        assert outcome.reason == "evidence"
        return None
    return outcome.finding.line, outcome.finding.last_line


@pytest.mark.parametrize("line", [0, 6, 90])
def test_a_block_of_adjacent_lines_is_preferred_to_a_nearer_scattered_one(line):
    text = "open()\nread()\nother()\nclose()\n\n\nopen()\nclose()\n"
    assert place_of(text, ("open()", "close()"), line) == (7, 8)


def test_of_equally_short_blocks_the_nearest_is_meant_and_of_equally_near_ones_the_first():
    text = "open()\nclose()\n\nopen()\nclose()\n\nopen()\nclose()\n"
    quotes = ("open()", "close()")
    assert [place_of(text, quotes, line) for line in (0, 3, 6, 20)] == [(1, 2), (4, 5), (7, 8), (7, 8)]
    assert place_of("open()\n\n\n\nopen()\n", ("open()",), 3) == (1, 1)


def test_each_quote_needs_a_line_of_its_own_after_the_one_before():
    assert place_of("a = 1\nb = 2\na = 1\n", ("a = 1", "a = 1"), 0) == (1, 3)
    assert place_of("a = 1\nb = 2\n", ("a = 1", "a = 1"), 1) is None
    assert place_of("a = 1\nb = 2\nc = 3\n", ("a = 1", "c = 3", "b = 2"), 1) is None
    assert place_of("a = 1\nb = 2\nc = 3\n", ("a = 1", "never", "c = 3"), 1) is None


def test_lines_that_stand_apart_are_found_in_order():
    one = kept(verify_finding(finding(evidence=("def second(x):", "        drop(i)")), SIDES))
    assert (one.line, one.last_line) == (6, 8)
    assert isinstance(
        verify_finding(finding(evidence=("        drop(i)", "def first(x):")), SIDES), RejectedFinding
    )


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"evidence": ("        invented(i)",)}, "evidence"),
        ({"evidence": ("        drop(i)", "never written")}, "evidence"),
        ({"evidence": ()}, "no_evidence"),
        ({"evidence": ("  ", "")}, "no_evidence"),
        ({"path": "elsewhere.py", "evidence": ("x",)}, "unit"),
        ({"path": "elsewhere.py", "unit": "u-1", "evidence": ("x",)}, "file"),
        ({"severity": "fatal", "evidence": ("        drop(i)",)}, "severity"),
        ({"category": "vibes", "evidence": ("        drop(i)",)}, "category"),
        ({"claim": " ", "evidence": ("        drop(i)",)}, "claim"),
    ],
    ids=[
        "invented",
        "half-invented",
        "none",
        "blank",
        "unknown-file",
        "no-text",
        "severity",
        "category",
        "claim",
    ],
)
def test_what_cannot_be_shown_is_dropped_with_a_reason(more, reason):
    outcome = verify_finding(finding(**more), SIDES)
    assert isinstance(outcome, RejectedFinding)
    assert outcome.reason == reason


def test_a_file_without_lines_needs_no_evidence():
    one = kept(verify_finding(finding(path="b.bin", line=9, last_line=9), SIDES))
    assert (one.line, one.last_line, one.unit) == (0, 0, "u-2")


def test_a_caller_in_a_file_that_did_not_change_can_be_shown():
    sides = Sides(UNITS, Texts({}, {"a.py": TEXT, "caller.py": "second(None)\n"}))
    one = kept(verify_finding(finding(unit="u-1", path="caller.py", evidence=("second(None)",)), sides))
    assert (one.path, one.line, one.unit) == ("caller.py", 1, "u-1")


def test_without_the_files_the_hunks_are_what_is_known():
    sides = Sides(UNITS, NOTHING)
    assert kept(verify_finding(finding(evidence=("        drop(i)",)), sides)).line == 8
    assert isinstance(verify_finding(finding(evidence=("        use(i)",)), sides), RejectedFinding)


def test_the_older_side_of_a_moved_file_is_read_under_its_older_name(tmp_path):
    before = "".join(f"line {n}\n" for n in range(40))
    diff, units, versions = change(tmp_path, {"old.txt": before}, {"new.txt": before.replace("line 7\n", "")})
    assert diff.files[0].change == "renamed"
    one = kept(
        verify_finding(finding(path="new.txt", side="old", evidence=("line 7",)), Sides(units, versions))
    )
    assert (one.line, one.side) == (8, "old")


# secrets


def test_a_quoted_secret_is_redacted_and_a_redacted_quote_is_found():
    text = f'x = 1\nTOKEN = "{TOKEN}"\nOTHER = "word"\n'
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    raw = kept(verify_finding(finding(evidence=(f'TOKEN = "{TOKEN}"',), claim=f"{TOKEN} is a secret"), sides))
    seen = kept(verify_finding(finding(evidence=('TOKEN = "<REDACTED>"',)), sides))
    assert raw.evidence == seen.evidence == ('TOKEN = "<REDACTED>"',)
    assert raw.line == seen.line == 2
    assert TOKEN not in repr(raw)


@pytest.mark.parametrize("quote", ['OTHER = "<REDACTED>"', "<REDACTED>", "x = <REDACTED>", "<REDACTED> = 1"])
def test_a_mark_stands_for_secrets_only(quote):
    text = f'x = 1\nTOKEN = "{TOKEN}"\nOTHER = "word"\n'
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    assert isinstance(verify_finding(finding(evidence=(quote,)), sides), RejectedFinding)


# patches


def test_a_patch_that_applies_is_kept_as_git_takes_it():
    patch = "@@ -8 +8 @@\n-        drop(i)\n+        keep(i)\n"
    outcome = verify_finding(finding(evidence=("        drop(i)",), patch=patch), SIDES)
    assert outcome.patch_problem is None
    assert kept(outcome).patch == write_patch("a.py", TEXT, TEXT.replace("drop", "keep"))


def test_a_patch_that_does_not_apply_goes_and_the_finding_stays():
    outcome = verify_finding(
        finding(evidence=("        drop(i)",), patch="@@ -8 +8 @@\n-nowhere\n+x\n"), SIDES
    )
    assert outcome.patch_problem == "does_not_apply"
    assert kept(outcome).patch == ""


def test_a_patch_with_a_secret_in_it_goes():
    patch = f'@@ -8 +8 @@\n-        drop(i)\n+        drop("{TOKEN}")\n'
    assert (
        verify_finding(finding(evidence=("        drop(i)",), patch=patch), SIDES).patch_problem == "secret"
    )


@pytest.mark.parametrize(
    "quote", ["if <REDACTED>", "<REDACTED>)", "if user.admin<REDACTED>user)", "<REDACTED>"]
)
def test_a_mark_stands_for_a_secret_and_for_no_word_beside_it(quote):
    text = f'def f(user):\n    if user.admin and known("{TOKEN}"): let(user)\n'
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    assert isinstance(verify_finding(finding(evidence=(quote,), line=2, last_line=2), sides), RejectedFinding)
    whole = 'if user.admin and known("<REDACTED>"): let(user)'
    assert kept(verify_finding(finding(evidence=(whole,), line=2, last_line=2), sides)).line == 2


@pytest.mark.parametrize(("line", "is_kept"), [(3, True), (6, True), (1, False), (9, False)])
def test_a_brace_is_evidence_only_where_it_is_said_to_stand(line, is_kept):
    text = "a {\n  b\n}\nc {\n  d\n}\n"
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    outcome = verify_finding(finding(evidence=("}",), line=line, last_line=line), sides)
    assert isinstance(outcome, VerifiedFinding) == is_kept
    assert not is_kept or kept(outcome).line == line
    alone = Sides(sides.units, Texts({}, {"a.py": "a {\n  b\n}\n"}))
    assert kept(verify_finding(finding(evidence=("}",), line=line, last_line=line), alone)).line == 3


def test_the_older_name_of_a_moved_file_has_no_newer_lines():
    moved = unit("u-1", "new.py", HUNK, old_path="old.py", change="renamed")
    sides = Sides([moved], NOTHING)
    assert sides.lines("new.py", "new") == {7: "    for i in x:", 8: "        drop(i)"}
    assert sides.lines("old.py", "old") == sides.lines("new.py", "old") == {7: "    for i in x:"}
    assert sides.lines("old.py", "new") is None


# for any file and any quote

LINES = st.lists(
    st.sampled_from(["a", " a", "b ", "", "}", "x = 1", f'k = "{TOKEN}"', "+a", "3: b"]),
    min_size=1,
    max_size=12,
)


@given(LINES, st.lists(st.integers(0, 11), min_size=1, max_size=3), st.integers(-2, 15))
def test_a_quote_of_the_file_is_kept_and_verifying_twice_is_verifying_once(lines, picked, line):
    text = "\n".join(lines) + "\n"
    sides = Sides([unit("u-1", "a.py", HUNK)], Texts({}, {"a.py": text}))
    quotes = tuple(lines[at] for at in sorted(set(picked)) if at < len(lines) and lines[at].strip())
    if not quotes or set(quotes) == {"}"}:  # which brace is meant, only its number tells
        return
    one = kept(verify_finding(finding(evidence=quotes, line=line, last_line=line), sides))
    safe = sides.safe_lines("a.py", "new")
    assert set(one.evidence) <= set(safe.values())
    assert 1 <= one.line <= one.last_line <= len(lines)
    assert kept(verify_finding(one, sides)) == one


@given(LINES, st.lists(st.sampled_from(["new", "", "a"]), max_size=4), st.data())
def test_an_id_stays_when_lines_above_are_added(lines, above, data):
    at = data.draw(st.integers(0, len(lines) - 1))
    quote = lines[at]
    if not quote.strip() or quote.strip() in [line.strip() for line in above]:
        return
    units = [unit("u-1", "a.py", HUNK)]
    ids = []
    for before in ([], above):
        text = "\n".join([*before, *lines]) + "\n"
        number = len(before) + at + 1
        sides = Sides(units, Texts({}, {"a.py": text}))
        ids.append(kept(verify_finding(finding(evidence=(quote,), line=number, last_line=number), sides)).id)
    assert ids[0] == ids[1]
