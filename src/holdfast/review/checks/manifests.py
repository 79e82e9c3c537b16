"""What a manifest asks for, and which lock file answers it.

Rule: read, never resolved; a manifest that cannot be read asks for nothing.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

Asked = dict[str, str]
"""By name, what is asked for: a version, a range, a place; as it is written."""

LOCKS: Mapping[str, tuple[str, ...]] = {
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
    "Pipfile": ("Pipfile.lock",),
    "package.json": ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"),
    "go.mod": ("go.sum",),
    "Cargo.toml": ("Cargo.lock",),
    "Gemfile": ("Gemfile.lock",),
    "composer.json": ("composer.lock",),
}
"""A project uses one of them."""

_REQUIREMENTS = re.compile(
    r"(?:^|[-_.])requirements(?:[-_.][\w-]+)?\.(?:txt|in)$|^requirements/[\w-]+\.(?:txt|in)$"
)
_PEP508 = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?P<rest>[^;#]*)")
_GO = re.compile(r"\s*(?:require\s+)?(?P<name>[\w.-]+\.[\w-]+(?:/[\w.~-]+)*)\s+(?P<version>v\S+)(?P<rest>.*)")
_REPLACE = re.compile(r"\s*(?:replace\s+)?(?P<name>\S+)(?:\s+v\S+)?\s+=>\s+(?P<to>\S+.*)")
_GEM = re.compile(r"\s*gem\s+['\"](?P<name>[\w.-]+)['\"](?P<rest>.*)")


def is_manifest(path: str) -> bool:
    name = PurePosixPath(path).name
    return name in LOCKS or _REQUIREMENTS.search(name) is not None


def asked(path: str, text: str | None) -> Asked:
    name = PurePosixPath(path).name
    if text is None:
        return {}
    read = _READERS.get(name, _read_requirements if _REQUIREMENTS.search(name) else None)
    if read is None:
        return {}
    try:
        return dict(read(text))
    except (ValueError, TypeError, AttributeError):  # not the shape it should have
        return {}


def lock_places(path: str) -> Iterator[str]:
    """Where the lock file may lie: beside the manifest, or in a folder above it (a workspace)."""
    pure = PurePosixPath(path)
    for folder in pure.parents:
        for name in LOCKS.get(pure.name, ()):
            yield str(folder / name)


def _read_pyproject(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    project = data.get("project", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    groups += data.get("dependency-groups", {}).values()
    for requirement in (one for group in groups for one in group if isinstance(one, str)):
        yield from _requirement(requirement)
    poetry = data.get("tool", {}).get("poetry", {})
    tables = [poetry.get("dependencies", {}), poetry.get("dev-dependencies", {})]
    tables += [group.get("dependencies", {}) for group in poetry.get("group", {}).values()]
    tables.append(data.get("tool", {}).get("uv", {}).get("sources", {}))
    for name, spec in (pair for table in tables for pair in table.items() if pair[0] != "python"):
        yield name, _spec(spec)


def _read_cargo(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    roots = [data, data.get("workspace", {}), *data.get("target", {}).values()]
    for root in roots:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, spec in root.get(kind, {}).items():
                if not (isinstance(spec, dict) and ("path" in spec or spec.get("workspace"))):
                    yield name, _spec(spec)


def _read_pipfile(text: str) -> Iterator[tuple[str, str]]:
    data = tomllib.loads(text)
    for kind in ("packages", "dev-packages"):
        for name, spec in data.get(kind, {}).items():
            yield name, _spec(spec)


def _read_npm(text: str) -> Iterator[tuple[str, str]]:
    data = json.loads(text)
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"):
        for name, spec in data.get(kind, {}).items():
            yield name, _spec(spec)


def _read_composer(text: str) -> Iterator[tuple[str, str]]:
    data = json.loads(text)
    for kind in ("require", "require-dev"):
        for name, spec in data.get(kind, {}).items():
            if "/" in name:  # else PHP itself, or a part of it
                yield name, _spec(spec)


def _read_go(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        line = line.partition("//")[0]  # noqa: PLW2901 - without its comment
        if found := _REPLACE.fullmatch(line.rstrip()):
            yield "=> " + found["name"], found["to"]
        elif found := _GO.fullmatch(line.rstrip()):
            yield found["name"], found["version"]


def _read_gems(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        if found := _GEM.match(line):
            yield found["name"], found["rest"].partition("#")[0].strip(" ,")


def _read_requirements(text: str) -> Iterator[tuple[str, str]]:
    for line in text.replace("\\\n", " ").split("\n"):
        line = line.strip()  # noqa: PLW2901
        if line.startswith(("#", "-")) or not line:
            if line.startswith(("-e ", "--editable ")) and "://" in line:
                yield line.split("#egg=")[-1], line.split(None, 1)[1]
        elif "://" in line.split("@", 1)[0].split(";")[0]:
            yield line.split("#egg=")[-1], line
        else:
            yield from _requirement(line)


def _requirement(text: str) -> Iterator[tuple[str, str]]:
    if found := _PEP508.match(text):
        yield re.sub(r"[-_.]+", "-", found["name"]).lower(), found["rest"].split(" --")[0].strip()


def _spec(spec: object) -> str:
    return spec if isinstance(spec, str) else json.dumps(spec, sort_keys=True)


_READERS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "pyproject.toml": _read_pyproject,
    "Pipfile": _read_pipfile,
    "package.json": _read_npm,
    "go.mod": _read_go,
    "Cargo.toml": _read_cargo,
    "Gemfile": _read_gems,
    "composer.json": _read_composer,
}
