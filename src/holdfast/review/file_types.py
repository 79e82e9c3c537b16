"""What type a file has: its language, its language family, and whether it is a test, a program or a lock file.

Rule: by name, and for the language of a file without a known ending by its first line. An unknown name gives an
empty language, never a guess.
"""

import re
from pathlib import PurePosixPath
from typing import Literal

_BY_ENDING = {
    "python": "py pyi pyw",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "javascript": "js mjs cjs jsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl cu cuh",
    "ruby": "rb rake gemspec ru",
    "csharp": "cs",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala",
    "php": "php",
    "shell": "sh bash zsh ksh",
    "sql": "sql",
    "html": "html htm",
    "vue": "vue",
    "svelte": "svelte",
    "css": "css scss sass less",
    "json": "json jsonc json5",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties env",
    "xml": "xml xsd xsl svg",
    "markdown": "md markdown mdx",
    "rst": "rst",
    "text": "txt",
    "terraform": "tf tfvars hcl",
    "protobuf": "proto",
    "lua": "lua",
    "perl": "pl pm",
}
_LANGUAGES = {ending: language for language, endings in _BY_ENDING.items() for ending in endings.split()}
_BY_NAME = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    "go.mod": "gomod",
    "cmakelists.txt": "cmake",
}
_BY_PROGRAM = {
    "python": "python",
    "node": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "ruby": "ruby",
}
_BY_PROGRAM |= {"sh": "shell", "bash": "shell", "zsh": "shell", "dash": "shell", "perl": "perl", "lua": "lua"}
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([a-z]+)[0-9.]*(?:\s|$)")
_ONLY_CPP = re.compile(
    r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)", re.MULTILINE
)


def detect_language(path: str, text: str | None = None) -> str:
    """`python`, `tsx`, `yaml`, …; empty if unknown."""
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.startswith(("dockerfile.", ".env")):
        return "dockerfile" if name.startswith("d") else "ini"
    stem, dot, ending = name.rpartition(".")
    if ending == "h" and dot:
        return "cpp" if text and _ONLY_CPP.search(text) else "c"
    if dot and stem:
        return _LANGUAGES.get(ending, "")
    found = _SHEBANG.match(text[:200]) if text else None
    return _BY_PROGRAM.get(found[1], "") if found else ""


LanguageFamily = Literal[
    "python", "js", "go", "rust", "ruby", "java", "php", "c", "shell", "markup", "data", ""
]

_FAMILIES: dict[LanguageFamily, str] = {
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
_BY_SUFFIX: dict[str, LanguageFamily] = {
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


def language_family(path: str) -> LanguageFamily:
    return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), "")


def is_test_file(path: str) -> bool:
    return _TEST.search(path) is not None


def is_program_file(path: str) -> bool:
    """A command, a script or an example: it may print."""
    return _PROGRAM.search(path) is not None


def is_lock_file(path: str) -> bool:
    return PurePosixPath(path).name in _LOCKS
