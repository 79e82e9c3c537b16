"""A review of a real repository, with its tools."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from holdfast.agents.reviewer.tools import review_tools
from holdfast.review.review import Review, start_review
from holdfast.tools.envelope import Envelope
from holdfast.tools.workspace import Workspace
from support.review_repos import Repo


class ReviewToolRunner:
    """The tools of a review, run by name."""

    def __init__(self, review: Review) -> None:
        self.review = review
        self.workspace = Workspace([review.root])
        self.tools = {tool.name: tool for tool in review_tools(review, self.workspace)}

    def run(self, name: str, **arguments: object) -> Envelope:
        result = asyncio.run(self.tools[name].run(dict(arguments), self.workspace))
        msgspec.json.encode(result)
        return result.envelope

    def unit(self, path: str, nth: int = 0) -> str:
        return [unit.id for unit in self.review.units if unit.path == path][nth]


BEFORE = {
    "pkg/__init__.py": "",
    "pkg/parser.py": (
        "import os\nfrom pkg import words\n\n\ndef parse(text):\n    parts = text.split()\n"
        "    return [part for part in parts if part]\n\n\ndef unused():\n    return os.sep\n"
    ),
    "pkg/words.py": "WORDS = ('a', 'b')\n\n\ndef clean(word):\n    return word.strip()\n",
    "pkg/main.py": (
        "from pkg.parser import parse\n\n\nclass App:\n    def start(self, text):\n"
        "        # parse it first\n        return parse(text)\n\n\ndef run(text):\n    return parse(text)\n"
    ),
    "gone.py": "def gone():\n    return 1\n",
    "old_name.py": "".join(f"value_{n} = {n}\n" for n in range(30)),
    ".gitignore": "build/\n",
    "build/out.py": "parse\n",
}
AFTER = {
    "pkg/parser.py": (
        "import os\nfrom pkg import words\n\n\ndef parse(text, sep=None):\n    parts = text.split(sep)\n"
        "    return [words.clean(part) for part in parts]\n\n\ndef unused():\n    return os.sep\n"
    ),
    "new_name.py": "".join(f"value_{n} = {n}\n" for n in range(29)) + "value_29 = 30\n",
}


@pytest.fixture
def changed(tmp_path):
    """A repository with a change in its working tree: one file changed, one deleted, one moved."""

    def make(
        before: Mapping[str, str] = BEFORE, after: Mapping[str, str] = AFTER, gone=("gone.py", "old_name.py")
    ):
        repo = Repo(tmp_path / "repo")
        for name, text in before.items():
            repo.write(name, text)
        repo.commit()
        for name in gone:
            (repo.folder / name).unlink()
        for name, text in after.items():
            repo.write(name, text)
        repo.git("add", "-A")
        return repo

    return make


@pytest.fixture
def runner(changed):
    return ReviewToolRunner(start_review(changed().folder, "working"))


@pytest.fixture
def runner_of():
    def make(folder: Path, spec: str = "working", text: str | None = None) -> ReviewToolRunner:
        return ReviewToolRunner(start_review(folder, spec, text=text))

    return make
