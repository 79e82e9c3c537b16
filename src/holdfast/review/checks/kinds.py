"""What sort of file a path is, as far as a check must know: its language family, a test, a program, a lock file.

Rule: by name alone, and only what is sure.
"""

import re
from pathlib import PurePosixPath
from typing import Literal

Family = Literal["python", "js", "go", "rust", "ruby", "java", "php", "c", "shell", "markup", "data", ""]

_FAMILIES: dict[Family, str] = {
    "python": "py pyi pyw",
    "js": "js jsx ts tsx mjs cjs mts cts vue svelte",
    "go": "go",
    "rust": "rs",
    "ruby": "rb rake",
    "java": "java kt kts scala groovy",
    "php": "php",
    "c": "c h cc cpp cxx hpp hh cs m mm",
    "shell": "sh bash zsh",
    "markup": "md markdown mdx rst txt adoc org html htm tex",
    "data": "json yaml yml toml ini cfg xml csv lock svg",
}
_BY_SUFFIX: dict[str, Family] = {
    f".{suffix}": family for family, suffixes in _FAMILIES.items() for suffix in suffixes.split()
}
_TEST = re.compile(
    r"""(?x) (?:^|/) (?: tests? | testing | __tests__ | specs? | e2e | cypress | fixtures? | testdata | mocks? ) /
    | (?:^|/) (?: test_[^/]*\.py | [^/]*_test\.(?:py|go|rs|rb|exs|dart) | conftest\.py
      | [^/]*\.(?:test|spec|cy)\.[cm]?[jt]sx? | [^/]*(?:Test|Tests|IT|Spec)\.(?:java|kt|scala|groovy|php|cs)
      | [^/]*_spec\.rb | test[^/]*\.(?:c|cc|cpp|sh) ) $
    """
)
_PROGRAM = re.compile(
    r"""(?x) (?:^|/) (?: cli | bin | cmd | scripts? | tools? | examples? | samples? | demos? | benchmarks? | bench
      | docs? | tutorials? | ci | hack | contrib | notebooks? | commands? | management | playground | tasks ) /
    | (?:^|/) (?: \.[^/]+ /.* | __main__\.py | setup\.py | manage\.py | noxfile\.py | tasks\.py | fabfile\.py
      | (?:[^/]*_)?cli\.\w+ | main\.\w+ | build\.rs | (?:[Gg]ulp|Grunt)file\.\w+ | [^/]*\.config\.[cm]?[jt]s ) $
    """
)
_LOCKS = frozenset(
    """uv.lock poetry.lock pdm.lock Pipfile.lock package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml
    bun.lock go.sum Cargo.lock Gemfile.lock composer.lock mix.lock flake.lock pubspec.lock Podfile.lock""".split()
)


def family(path: str) -> Family:
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), "")


def is_test(path: str) -> bool:
    return _TEST.search(path) is not None


def is_program(path: str) -> bool:
    """May write to a person's screen: a command, a script, an example."""
    return _PROGRAM.search(path) is not None


def is_lock(path: str) -> bool:
    return PurePosixPath(path).name in _LOCKS
