"""Models that the documentation and the help name are in the catalogue."""

import re
from pathlib import Path

import pytest

from holdfast.config import Config
from holdfast.models.catalogue import load_catalogue

ROOT = Path(__file__).parents[2]
PROVIDERS = "anthropic openai deepseek moonshot qwen mistral google".split()
NAMED = re.compile(
    rf"(?<![\w/.-])(?:{'|'.join(PROVIDERS)})/(?=[a-z0-9.-]*\d)[a-z0-9][a-z0-9.-]*[a-z0-9](?![\w/])"
)
FILES = [
    *ROOT.glob("README*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("src/holdfast/cli/*.py"),
    *ROOT.glob("src/holdfast/agents/**/*.md"),
]


def test_models_that_are_named_exist():
    known = load_catalogue(Config()).models
    named = {(name, file.name) for file in FILES for name in NAMED.findall(file.read_text("utf-8"))}
    assert len(named) > 5
    assert {one for one in named if one[0] not in known} == set()


@pytest.mark.parametrize("text", ["use `anthropic/claude-opus-9`", "--model openai/gpt-7-sol"])
def test_a_name_in_a_sentence_is_seen(text):
    assert NAMED.search(text)
