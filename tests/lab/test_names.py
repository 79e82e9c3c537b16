"""What counts as a name, and what a line is known by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lab.evidence.indexed_message import LONGEST, line_keys, names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see src/app/main.py.", {"src/app/main.py", "main.py"}),
        ("call store.WriteCheckpoint(ctx)", {"store.WriteCheckpoint", "WriteCheckpoint"}),
        ("snake_case camelCase CONSTANT kebab-case", {"snake_case", "camelCase", "CONSTANT", "kebab-case"}),
        ("commit 1a2b3c4d, build 20231104", {"1a2b3c4d", "20231104"}),
        ("version 1.22.3333 of it", {"1.22.3333"}),
        ("open https://example.com/a?b=c now", {"https://example.com/a?b=c"}),
        ("plain words of ordinary prose", set()),
        ("Capitalised Words Only", set()),
        ("a.b 1.2 x_y", set()),
        ("修改foo_bar文件", {"foo_bar"}),
        ("--dry-run", {"dry-run"}),
        ("A" * (LONGEST + 1), set()),
    ],
)
def test_names(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("  plain text ", ("plain text",)),
        ("    12→\treturn nil", ("12→\treturn nil", "return nil")),
        ("src/a.go:12:func main() {", ("src/a.go:12:func main() {", "func main() {")),
        ("12: code here", ("12: code here", "code here")),
        ("+\tadded line", ("+\tadded line", "added line")),
        ("- removed line", ("- removed line", "removed line")),
        ("- ", ("-",)),
        ("", ("",)),
    ],
)
def test_a_line_is_known_without_what_a_listing_put_before_it(line, keys):
    assert line_keys(line) == keys


def test_a_long_line_without_spaces_takes_no_quadratic_time():
    """A line of encoded data took seconds, and a file of it minutes."""
    for unit in ("a", "1", "a1"):
        line = unit * (200_000 // len(unit))
        assert line_keys(line) == (line,)


@given(st.text())
def test_any_text_has_names_and_keys(text):
    assert all(name in text for name in names_in(text))
    assert line_keys(text)[0] == text.strip()
