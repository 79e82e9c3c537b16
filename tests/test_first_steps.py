"""What a newcomer meets in the first minutes: the package's names, its errors, and packs of nothing."""

import pydoc
import subprocess
import sys

import pytest

import holdfast
from holdfast import HoldfastError, Session, pack
from holdfast.errors import ConfigError, InputError
from holdfast.numbers import counted, grouped

BLANK = [{"role": "user", "content": ""}, {"role": "assistant", "content": "  "}]


def test_the_public_names_are_listed_before_any_is_used():
    code = "import holdfast; print(dir(holdfast) == sorted(holdfast.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_star_import_brings_the_public_names():
    names: dict[str, object] = {}
    exec("from holdfast import *", names)
    assert set(holdfast.__all__) <= names.keys()


def test_help_describes_the_public_names():
    text = pydoc.plain(pydoc.render_doc(holdfast))
    assert "class Session" in text
    assert "pack(" in text


def test_the_hint_is_part_of_an_error_as_text():
    assert str(HoldfastError("it broke")) == "it broke"
    assert (
        str(ConfigError("no profile `x`", hint="there are: code")) == "no profile `x`\nhint: there are: code"
    )


@pytest.mark.parametrize("messages", [[], BLANK], ids=["none", "blank"])
@pytest.mark.parametrize("to", ["openai", "anthropic"])
def test_a_pack_of_nothing_is_an_error_with_a_hint(messages, to):
    with pytest.raises(InputError, match="there is nothing to pack") as caught:
        pack(messages, to=to)
    assert '"role": "user"' in caught.value.hint


def test_a_session_in_which_nothing_was_said_says_the_same():
    session = Session()
    with pytest.raises(InputError, match="there is nothing to pack"):
        session.pack()
    session.append({"role": "user", "content": "hi"})
    assert session.pack().messages == [{"role": "user", "content": "hi"}]


def test_numbers_for_people_have_commas():
    assert grouped(12342) == "12,342"
    assert (counted(1, "step"), counted(12342, "step"), counted(2, "try", "tries")) == (
        "1 step",
        "12,342 steps",
        "2 tries",
    )
