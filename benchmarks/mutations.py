"""Small mistakes put into the source one at a time: does the suite notice?

    uv run python benchmarks/mutations.py packing agents pair --sample 20

Each mutant is one change in one expression: a comparison, `and` for `or`, a sign, a number, a `not` taken away. The
tests of its package run in a copy of the project until one fails. Mutants that no test notices are listed: each is
a missing test, or a change that makes no difference.

Rule: the checkout is never written to; the same seed chooses the same mutants of the same source.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
SLOWEST = 900.0
"""Seconds after which a mutant that hangs counts as noticed."""

OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    package: str
    path: Path
    node: ast.expr
    text: str
    """What the node becomes."""

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT / 'src' / 'holdfast')}:{self.node.lineno}"

    def source(self) -> str:
        """The whole module with this one change."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        first, last = self.node.lineno - 1, (self.node.end_lineno or 0) - 1
        before = b"".join(lines[:first]) + lines[first][: self.node.col_offset]
        after = lines[last][self.node.end_col_offset :] + b"".join(lines[last + 1 :])
        return (before + self.text.encode() + after).decode()


def mutants(package: str) -> Iterator[Mutant]:
    for path in sorted((ROOT / "src" / "holdfast" / package).rglob("*.py")):
        for node in expressions(ast.parse(path.read_text("utf-8"))):
            if text := changed(node):
                yield Mutant(package, path, node, f"({text})")


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """What is computed: annotations are not, and Python 3.11 does not know places inside f-strings."""
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns") and not isinstance(node, ast.JoinedStr):
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ast.AST):
                    yield from expressions(inner)


def changed(node: ast.expr) -> str:
    """The node with one mistake in it; empty where none of the kinds applies."""
    match node:
        case ast.Compare(ops=[one]) if type(one) in OTHER:
            return ast.unparse(ast.Compare(node.left, [OTHER[type(one)]()], node.comparators))
        case ast.BoolOp(op=op):
            return ast.unparse(ast.BoolOp(OTHER[type(op)](), node.values))
        case ast.BinOp(op=op) if type(op) in OTHER and not isinstance(
            node.right, ast.Constant | ast.JoinedStr
        ):
            return ast.unparse(ast.BinOp(node.left, OTHER[type(op)](), node.right))
        case ast.UnaryOp(op=ast.Not()):
            return ast.unparse(node.operand)
        case ast.Constant(value=bool() as value):
            return str(not value)
        case ast.Constant(value=int() | float() as value):
            return str(value + 1 if isinstance(value, int) or not value else value * 1.5)
    return ""


def noticed(mutant: Mutant, copy: Path) -> bool:
    place = copy / mutant.path.relative_to(ROOT)
    place.write_text(mutant.source(), "utf-8")
    try:
        return not passes(mutant.package, copy)
    finally:
        shutil.copy2(mutant.path, place)


def passes(package: str, copy: Path) -> bool:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        f"tests/{package}",
    ]
    env = {**os.environ, "PYTHONPATH": str(copy / "src")}
    try:
        done = subprocess.run(command, cwd=copy, env=env, timeout=SLOWEST, capture_output=True, check=False)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="+", help="folders of src/holdfast that tests/ has too")
    parser.add_argument("--sample", type=int, default=20, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen: list[Mutant] = []
    for package in options.packages:
        every = list(mutants(package))
        chosen += random.Random(options.seed).sample(every, min(options.sample, len(every)))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copy = Path(folder) / str(number)
            shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__"))
            copies.put(copy)

        if failing := [package for package in options.packages if not passes(package, copy)]:
            sys.exit(f"error: without any mutant, tests fail in {', '.join(failing)}")

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return noticed(mutant, copy)
            finally:
                copies.put(copy)

        seen = list(pool.map(tried, chosen))
    for package in options.packages:
        own = [found for mutant, found in zip(chosen, seen, strict=True) if mutant.package == package]
        print(f"{package}: {sum(own)} of {len(own)} noticed")
    for mutant, found in zip(chosen, seen, strict=True):
        if not found:
            print(f"not noticed: {mutant.place}: `{ast.unparse(mutant.node)}` as `{mutant.text}`")


if __name__ == "__main__":
    main()
