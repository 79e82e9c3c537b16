"""A repository with a change to review, and reports as tests look at them."""

import re
from pathlib import Path
from typing import Any

from command_line import holdfast
from markdown_it import MarkdownIt

from support.review_repos import Repo

BEFORE = "def price(order):\n    return order.total\n"
AFTER = "def price(order):\n    breakpoint()\n    return order.total\n"
CLAIM = "A breakpoint or debug dump is left here."
MANY = 2000


def shop(folder: Path) -> Repo:
    """A repository with one commit."""
    made = Repo(folder)
    made.commit({"src/shop.py": BEFORE, "README.md": "# Shop\n"})
    return made


def large_repo(folder: Path) -> Repo:
    """A repository in which so many files are staged."""
    made = Repo(folder)
    made.commit()
    for number in range(MANY):
        made.write(f"src/part{number % 40}/m{number}.py", f"def f{number}():\n    return {number}\n")
    made.git("add", "-A")
    return made


def reviewed(*args: object) -> Any:
    """The report of the rules, as JSON."""
    done = holdfast("review", "--no-model", "--json", *args)
    assert (done.code, done.err) == (0, "")
    return done.json


def paths(report: Any) -> list[str]:
    return sorted({unit["path"] for unit in report["units"]})


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt("gfm-like").parse(markdown)
    return [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]


def plain(shown: bytes) -> str:
    """What a terminal shows in the end, without colours and lines that were wiped."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r\n", "\n")
    return re.sub(r"\r\x1b\[K[^\n]*?(?=\r\x1b\[K)|\r\x1b\[K", "", text)
