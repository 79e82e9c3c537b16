"""Which language a file is written in, told by its name and, without one that says so, by its first line.

Rule: a name that is not known gives an empty language, never a guess.
"""

import re

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


def language_of(path: str, text: str | None = None) -> str:
    """`python`, `tsx`, `yaml`, …; empty where it is not known."""
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
