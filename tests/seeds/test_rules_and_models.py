"""What the design documents say of code_law.md, of the prompt that writes it, and of models.

Each test names the rows of docs/seeds.md that it stands for.
"""

import pytest

from holdfast.agents.coding.coding_session import INIT_PROMPT
from holdfast.models.catalogue import load_catalogue


@pytest.mark.parametrize(
    "element",
    [
        "`code_law.md`",
        "everyone who contributes",
        '"Repository Guidelines"',
        "Markdown headings",
        "clear, concise and well ordered",
        "200 to 400 words",
        "short, direct, specific to this repository",
        "commands, paths and patterns of names",
        "professional and instructional in tone",
        "leave out what does not apply, and add",
        "Project Structure & Module Organization",
        "source, tests and assets",
        "Build, Test, and Development Commands",
        "what it does",
        "Coding Style & Naming Conventions",
        "indentation",
        "formatters and linters",
        "Testing Guidelines",
        "coverage",
        "how tests are named and how they are run",
        "Commit & Pull Request Guidelines",
        "commit messages that the history shows",
        "a description, linked issues, screenshots",
        "security and configuration",
        "overview of the architecture",
        "instructions for agents",
        "LS, Glob, Grep and Read",
    ],
)
def test_the_prompt_that_writes_the_rules_has_every_element(element):
    """000-70, 000-74, 000-79."""
    assert element in INIT_PROMPT


@pytest.mark.parametrize(("name", "window"), [("claude-opus-4-5", 200_000), ("claude-sonnet-4-5", 200_000)])
def test_the_models_that_the_documents_name_are_in_the_catalogue(name, window):
    """003-01. The document gives Sonnet 1M, which its maker no longer does."""
    entry = load_catalogue().models[f"anthropic/{name}"]
    assert entry.window == window
    assert entry.price is not None
