"""Who may import whom. An arrow that points the wrong way is found here, before it becomes a knot."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "holdfast"

VALUES = {
    "version",
    "ids",
    "messages",
    "events",
    "errors",
    "numbers",
    "line_ranges",
    "image_size",
    "effort",
    "tool_use",
    "user_folders",
    "store_places",
}
MAY_IMPORT: dict[str, set[str]] = {
    "version": set(),
    "ids": set(),
    "messages": set(),
    "errors": set(),
    "numbers": set(),
    "line_ranges": set(),
    "image_size": set(),
    "effort": {"errors"},
    "user_folders": set(),
    "store_places": {"errors", "user_folders"},
    "events": {"messages"},
    "tool_use": {"messages"},
    "redaction": VALUES,
    "views": VALUES,
    "packing": VALUES | {"views"},
    "store": VALUES | {"redaction"},
    "log": VALUES | {"store", "redaction"},
    "recall": VALUES | {"store"},
    "wire": VALUES,
    "recordings": VALUES | {"wire"},
    "tokenizers": VALUES | {"packing"},
    "config": VALUES | {"packing"},
    "sender": VALUES | {"packing", "wire", "recall", "store"},
    "session_settings": VALUES | {"packing", "recall", "store", "log", "sender", "wire"},
    "session": VALUES
    | {
        "views",
        "packing",
        "wire",
        "recall",
        "store",
        "log",
        "sender",
        "session_settings",
        "tokenizers",
        "models",
    },
    "list_packing": VALUES
    | {"views", "packing", "wire", "recall", "store", "log", "sender", "session_settings", "tokenizers"},
    "followed_conversations": VALUES
    | {
        "views",
        "packing",
        "wire",
        "recall",
        "store",
        "log",
        "sender",
        "session",
        "session_settings",
        "models",
    },
    "adapters": VALUES
    | {
        "views",
        "packing",
        "wire",
        "recall",
        "store",
        "log",
        "sender",
        "session",
        "session_settings",
        "followed_conversations",
        "models",
    },
    "gateway": VALUES
    | {
        "config",
        "tokenizers",
        "recall",
        "redaction",
        "views",
        "packing",
        "wire",
        "store",
        "log",
        "session",
        "session_settings",
        "models",
        "followed_conversations",
    },
    "prices": VALUES,
    "models": VALUES | {"packing", "wire", "redaction", "prices", "config"},
    "compaction": VALUES | {"views", "packing", "redaction", "models", "session"},
    "tools": VALUES,
    "review": VALUES | {"redaction"},
    "pair": VALUES | {"packing", "prices"},
    "agents": VALUES
    | {
        "views",
        "redaction",
        "packing",
        "recall",
        "store",
        "log",
        "prices",
        "config",
        "models",
        "session",
        "compaction",
        "tools",
        "wire",
        "tour",
        "review",
        "pair",
    },
    "terminal": VALUES
    | {
        "views",
        "redaction",
        "packing",
        "store",
        "config",
        "models",
        "session",
        "tools",
        "agents",
    },
    "tour": VALUES | {"models"},
    "drawings": set(),
    "viewer": VALUES
    | {
        "drawings",
        "views",
        "packing",
        "compaction",
        "wire",
        "recordings",
        "recall",
        "store",
        "log",
        "tokenizers",
        "prices",
        "config",
        "models",
        "session_settings",
    },
    "lab": VALUES
    | {
        "drawings",
        "views",
        "packing",
        "wire",
        "recordings",
        "recall",
        "store",
        "log",
        "tokenizers",
        "prices",
        "config",
        "session",
    },
}
TOP = {"cli", "__init__", "__main__"}
"""May import everything; nothing may import them."""

SHARED = "."
"""The modules of a package that are in no folder of it."""

INSIDE: dict[str, dict[str, set[str]]] = {
    "agents": {
        SHARED: set(),
        "coding": {SHARED},
        "commands": {SHARED, "coding"},
        "acp": {SHARED, "coding", "commands"},
        "pair": {SHARED, "coding"},
        "reviewer": {SHARED, "coding"},
    },
    "tools": {
        SHARED: set(),
        "files": {SHARED},
        "search": {SHARED},
        "permissions": {SHARED, "search"},
        "shell": {SHARED, "search"},
        "mcp": {SHARED, "shell"},
        "web": {SHARED},
        "checks": {SHARED, "search", "shell"},
    },
}
"""Arrows between the folders of a package."""

IMPURE = {
    "os",
    "time",
    "random",
    "socket",
    "subprocess",
    "pathlib",
    "shutil",
    "tempfile",
    "threading",
    "asyncio",
}
IMPURE |= {"datetime", "secrets", "uuid", "io", "sqlite3", "urllib", "http", "splintr", "kingfisher_sdk"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """Full names of everything a module imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names.update(_target(node.module or "", alias.name) for alias in node.names)
    return names


def _target(module: str, name: str) -> str:
    """The module that `from module import name` loads: a submodule of that name, or the module itself."""
    inner = PACKAGE.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


def own_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path) if name.startswith("holdfast.")}


def test_every_room_has_its_rule():
    assert {room(path) for path in modules()} - TOP == set(MAY_IMPORT)


@pytest.mark.slow
@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_point_downwards(path):
    if room(path) not in TOP:
        assert own_rooms(path) - {room(path)} <= MAY_IMPORT[room(path)]


def folder_of(name: str, package: str) -> str:
    """The folder of a package that a module is in, such as `coding` for `holdfast.agents.coding.task`."""
    inner = name.split(".")[2:3]
    return inner[0] if inner and (PACKAGE / package / inner[0]).is_dir() else SHARED


@pytest.mark.parametrize("package", INSIDE)
def test_arrows_inside_a_package_point_downwards(package):
    allowed = INSIDE[package]
    for path in (PACKAGE / package).rglob("*.py"):
        own = folder_of(module_name(path), package)
        reached = {folder_of(n, package) for n in imported(path) if n.startswith(f"holdfast.{package}.")}
        assert reached - {own} <= allowed[own], path


def rows_of_the_picture() -> list[set[str]]:
    """The packages in `docs/pictures/architecture.svg`, row by row, from top to bottom."""
    svg = (PACKAGE.parents[1] / "docs" / "pictures" / "architecture.svg").read_text("utf-8")
    rows: dict[int, set[str]] = {}
    for y, name in re.findall(r'<text x="\d+" y="(\d+)" text-anchor="middle" font-weight="600">(\w+)<', svg):
        rows.setdefault(int(y), set()).add(name)
    return [rows[y] for y in sorted(rows)]


def test_the_picture_of_the_packages_is_true():
    rows = rows_of_the_picture()
    assert set().union(*rows) == set(MAY_IMPORT) | {"cli"}
    below = [set().union(*rows[number:]) for number in range(1, len(rows) + 1)]
    for path in modules():
        number = next((n for n, row in enumerate(rows) if room(path) in row), None)
        if number is None:
            continue
        lower = below[number] | (rows[number] if number == len(rows) - 1 else set())
        assert own_rooms(path) - {room(path)} - {"version"} <= lower, path


@pytest.mark.parametrize("name", ["packing", "views", "events", "messages", "ids", "tool_use"])
def test_pure_rooms_touch_no_clock_no_chance_and_no_world(name):
    for path in modules():
        if room(path) == name:
            assert not {n.split(".")[0] for n in imported(path)} & IMPURE, path


@pytest.mark.slow
def test_no_two_modules_import_each_other():
    graph = {module_name(path): {n for n in imported(path) if n.startswith("holdfast")} for path in modules()}
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above, name])
        if name in done:
            return
        for other in graph.get(name, ()):
            visit(other, (*above, name))
        done.add(name)

    for name in graph:
        visit(name, ())


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_type_checking_blocks_are_not_needed():
    assert [path for path in modules() if "TYPE_CHECKING" in path.read_text("utf-8")] == []


def test_importing_holdfast_loads_nothing_heavy():
    heavy = "{'splintr', 'kingfisher_sdk', 'rich', 'click', 'sqlite3', 'openai', 'anthropic', 'msgspec'}"
    code = f"import sys, holdfast; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_is_complete():
    code = "import holdfast; print([n for n in holdfast.__all__ if not hasattr(holdfast, n)])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
