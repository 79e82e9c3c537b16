"""Ordinary code loses nothing to redaction."""

import sysconfig
from pathlib import Path

import pytest
from redaction_false_positives import code_texts

from holdfast.redaction import find_secrets

SAMPLE_PASSWORDS = {"sekrit", "geheim$parole"}
"""Written as passwords in docstrings of the standard library, so they are not false alarms."""


@pytest.mark.slow
def test_five_megabytes_of_ordinary_code_raise_no_false_alarm():
    size = 0
    found = set()
    for text in code_texts(Path(sysconfig.get_path("stdlib"))):
        size += len(text)
        found |= {text[one.start : one.end] for one in find_secrets(text)}
    assert size > 5_000_000
    assert found <= SAMPLE_PASSWORDS
