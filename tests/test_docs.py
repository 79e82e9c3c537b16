"""Documents say what is so: names exist, values agree, links lead somewhere, examples run.

The seeds themselves are not part of the project; what `docs/seeds.md` must speak of is listed here.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from holdfast.cli.app import COMMANDS
from holdfast.config import OTHER_VARIABLES, SETTINGS, setting_text
from holdfast.packing.profile import BUILT_IN

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "holdfast"
SEEDS = ROOT / "docs" / "seeds.md"
INDEX = ROOT / "docs" / "README.md"
BUILT = {"build", "dist", "node_modules"}


def documents(*patterns: str) -> list[Path]:
    """Every document of the project; hidden folders and what tools make are not part of it."""
    found = (path for pattern in patterns for path in ROOT.rglob(pattern))
    return sorted(p for p in found if not any(_is_foreign(part) for part in p.relative_to(ROOT).parts[:-1]))


def _is_foreign(part: str) -> bool:
    return part.startswith(".") or part in BUILT or part.endswith(".egg-info")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


MARKDOWN = documents("*.md")
OURS = [path for path in MARKDOWN if path.parent in (ROOT, ROOT / "docs", ROOT / "decisions")]

_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"`([^`\n]+)`")
_REFERENCE = re.compile(r"(?P<path>[\w./-]+\.py)(?::(?P<name>[\w.]+))?")
_SETTING = re.compile(rf"(?P<profile>{'|'.join(BUILT_IN)})\.(?P<setting>\w+) = (?P<value>.+)")


def code_blocks(path: Path) -> list[tuple[str, str]]:
    return [(m["language"].strip(), m["code"]) for m in _FENCE.finditer(path.read_text("utf-8"))]


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text("utf-8"))


def seeds_code() -> list[str]:
    return _CODE.findall(prose(SEEDS))


# What docs/seeds.md names in the code


def missing(reference: str) -> str:
    """What of `packing/folding/fold_plan.py:plan_fold` or `log.py:Log.append` is not there; empty if all is."""
    match = _REFERENCE.fullmatch(reference)
    assert match, reference
    home = ROOT if match["path"].startswith(("tests/", "benchmarks/")) else PACKAGE
    file = home / match["path"]
    if not file.is_file():
        return f"there is no file {named(file)}"
    known = names_in(file)
    return f"{named(file)} has no {match['name']}" if match["name"] and match["name"] not in known else ""


@cache
def names_in(file: Path) -> frozenset[str]:
    """Everything a module and its classes define, with the attributes that methods set on `self`."""
    found: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        own = list(_defined(node))
        found.update(own)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for name in _members(node))
    return frozenset(found)


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id


def _members(owner: ast.ClassDef) -> Iterator[str]:
    for node in owner.body:
        yield from _defined(node)
    for inner in ast.walk(owner):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and _is_self(inner.value):
            yield inner.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def test_every_name_in_the_seed_map_is_in_the_code() -> None:
    references = [code for code in seeds_code() if _REFERENCE.fullmatch(code)]
    assert len(references) > 100
    assert [problem for problem in map(missing, references) if problem] == []


@pytest.mark.parametrize(
    "reference",
    [
        "packing/folds.py",
        "packing/folding/fold_plan.py:plan_folds",
        "log.py:Log.appended",
        "log.py:append",
        "tests/test_no.py",
    ],
)
def test_a_name_that_is_not_there_is_seen(reference: str) -> None:
    assert missing(reference)


_PATH = re.compile(r"(?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|toml|json|jsonl))?")


@pytest.mark.parametrize("document", OURS, ids=named)
def test_every_path_in_backticks_exists(document: Path) -> None:
    paths = [code for code in _CODE.findall(prose(document)) if _PATH.fullmatch(code)]
    assert [path for path in paths if not (ROOT / path).exists() and not (PACKAGE / path).exists()] == []


def test_every_setting_in_the_seed_map_has_the_value_it_says() -> None:
    stated = [match for code in seeds_code() if (match := _SETTING.fullmatch(code))]
    assert len(stated) > 50
    for match in stated:
        assert match["setting"] in SETTINGS, match[0]
        assert setting_text(getattr(BUILT_IN[match["profile"]], match["setting"])) == match["value"], match[0]


def test_every_variable_in_the_seed_map_is_read() -> None:
    named_there = {code for code in seeds_code() if code.startswith("HOLDFAST_")}
    known = {variable for setting in SETTINGS.values() for variable in setting.variables}
    assert named_there
    assert named_there <= known | set(OTHER_VARIABLES)


SEED_WORDS = {
    "000": """LS Glob Grep Read Edit MultiEdit Write Bash TodoWrite <REDACTED> ToolResponseCompressor
        HistorySummarizer code_law A: B1: B2: C1: C2: D1: D2: D3: E1: E2: F1: F2: G1: G2: 16k 50""",
    "001": """HistoryManager ToolResultCompressor InputPreprocessor ContextBuilder SummaryCompressor ReadTool
        A3 A6 D4 L1 L2 L3 L4 L5 L6 Scratchpad @file <system-reminder> mtime context_window
        compression_threshold min_retain_rounds summary_timeout""",
    "002": """ConversationState CodeReviewAgent ContextProvider ToolRuntime Stable Short-Term Long-Term Tool
        Memory turn_id max_turns max_messages max_tool_chars_per_message prune_history v1: v2: v3:
        list_project_files search_in_project read_file_hunk get_dependencies rule_suggestion""",
    "003": """Init Execute API_HARD_LIMIT COMPACT_TRIGGER_THRESHOLD KEEP_RECENT_STEPS 150K 700K 1: 2: 3: 4: 5:
        mock 4000 5000 1000 shrinks validate_summary <compact_summary> HITL Case <execute_to_init_context>
        <init_to_execute_context>""",
    "004": """A4 A6 Archive role=summary role=system 120 10 usage.total_tokens Objectives Technical Completed
        Insights File""",
}


@pytest.mark.parametrize("number", SEED_WORDS)
def test_the_map_speaks_of_every_module_and_rule_of_a_seed(number: str) -> None:
    sections = dict(
        re.findall(r"^## Seed (\d{3}) · (.*?)(?=^## |\Z)", SEEDS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    )
    assert sorted(sections) == sorted(SEED_WORDS)
    rows = "\n".join(re.findall(r"^(?:\| |###).*$", sections[number], re.MULTILINE))
    absent = [w for w in SEED_WORDS[number].split() if not re.search(rf"(?<!\w){re.escape(w)}(?!\w)", rows)]
    assert absent == []


# The index


@pytest.mark.parametrize("folder", ["docs", "decisions"])
def test_the_index_lists_every_page(folder: str) -> None:
    linked = {(INDEX.parent / target).resolve() for target in links(INDEX) if "://" not in target}
    pages = {page.resolve() for page in (ROOT / folder).glob("*.md")} - {INDEX.resolve()}
    assert pages
    assert {named(page) for page in pages - linked} == set()


# What the documents must cover


def packages() -> list[str]:
    return sorted(path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*/__init__.py"))


def test_the_architecture_page_has_a_row_for_every_package_and_for_no_other() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w/]+)/` \|", page, re.MULTILINE)
    assert rows == packages()


def test_the_page_of_commands_has_a_section_for_every_command_and_for_no_other() -> None:
    page = prose(ROOT / "docs" / "cli.md")
    sections = re.findall(r"^## `holdfast (\w+)", page, re.MULTILINE)
    assert sorted(sections) == sorted(COMMANDS)


def test_the_page_of_profiles_has_every_setting_and_no_other() -> None:
    page = prose(ROOT / "docs" / "profiles.md")
    table = page[page.index("| setting | ") :].split("\n\n", 1)[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(SETTINGS)


_COMMAND = re.compile(r"(?<![\w.-])(?<!from )holdfast ([a-z][\w-]*)")


@pytest.mark.parametrize("document", OURS, ids=named)
def test_every_command_that_is_named_exists(document: Path) -> None:
    """In code only: in prose, `holdfast` may be followed by any word."""
    text = document.read_text("utf-8")
    code = [block for _, block in code_blocks(document)] + _CODE.findall(_FENCE.sub("", text))
    names = {name for piece in code for name in _COMMAND.findall(piece)}
    assert names <= set(COMMANDS), f"{named(document)} names {sorted(names - set(COMMANDS))}"


@cache
def words_of_the_project() -> frozenset[str]:
    """Every identifier and word in source, tests, benchmarks and examples."""
    found: set[str] = set()
    for folder in ("src", "tests", "benchmarks", "examples", ".ci"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyi", ".toml", ".md", ".tsv", "") and path.is_file():
                found.update(re.findall(r"\w+", path.read_text("utf-8", errors="replace")))
    found.update(re.findall(r"\w+", (ROOT / "pyproject.toml").read_text("utf-8")))
    return frozenset(found)


def describes_the_code(document: Path) -> bool:
    """Decisions also name what was refused, and the map from the design documents quotes their names."""
    return document.parent.name != "decisions" and document != SEEDS


@pytest.mark.parametrize("document", [*filter(describes_the_code, OURS)], ids=named)
def test_every_identifier_in_backticks_exists(document: Path) -> None:
    """Settings, functions, classes and options that a document names in `snake_case` or `CamelCase`."""
    pattern = re.compile(r"[a-z]+(?:_[a-z0-9]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
    names = {name for name in _CODE.findall(prose(document)) if pattern.fullmatch(name)}
    assert names <= words_of_the_project(), f"{named(document)}: {sorted(names - words_of_the_project())}"


# Two languages


def headings(path: Path) -> list[str]:
    return re.findall(r"^(#{1,6}) ", prose(path), re.MULTILINE)


def translations() -> list[Path]:
    return documents("*.zh-CN.md")


@pytest.mark.skipif(not translations(), reason="no document is translated yet")
@pytest.mark.parametrize("translated", translations(), ids=named)
def test_a_translation_keeps_step(translated: Path) -> None:
    original = translated.with_name(translated.name.replace(".zh-CN", ""))
    assert headings(translated) == headings(original)
    assert code_blocks(translated) == code_blocks(original)


# Links

_LINK = re.compile(
    r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)|^\[[^\]]+\]: (\S+)|(?:src|href)=\"([^\"]+)\"", re.MULTILINE
)


def links(path: Path) -> list[str]:
    text = _CODE.sub("", prose(path))
    return [next(filter(None, groups)) for groups in _LINK.findall(text)]


def anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#{1,6} (.+?)\s*$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", MARKDOWN, ids=named)
def test_relative_links_lead_somewhere(document: Path) -> None:
    for target in links(document):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        place, _, anchor = unquote(target).partition("#")
        file = document.parent / place if place else document
        assert file.exists(), f"{named(document)} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{named(document)} links to {target}"


def test_links_are_found_in_all_their_forms(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# A `b` c, d\n[x](a.md#b) ![y](<c.svg>)\n[z]: d.md\n<img src="e.png">\n`[n](no.md)`\n')
    assert links(page) == ["a.md#b", "c.svg", "d.md", "e.png"]
    assert anchors(page) == {"a-b-c-d"}


# What no document may hold

# `/home/dev` is where the made-up developer of the examples works.
_MACHINE_PATH = re.compile(
    r"(?<![\w.~)-])/(?:home/(?!dev/)\w+|Users|mnt|private|var/folders)(?:/|\b(?!-))|[A-Z]:\\+Users"
)
_REGISTRY = re.compile(r"(?i)://[\w.-]*(?:registry|mirror|nexus|proxy|simple)[\w.-]*|--(?:extra-)?index-url")


@pytest.mark.parametrize("document", documents("*.md", "*.txt", "*.toml"), ids=named)
def test_no_document_names_a_machine_or_a_registry(document: Path) -> None:
    for number, line in enumerate(document.read_text("utf-8").splitlines(), 1):
        for pattern in (_MACHINE_PATH, _REGISTRY):
            found = pattern.search(line)
            assert not found, f"{named(document)} line {number}: {found[0] if found else ''}"


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("/home/someone/x", True),
        ("/home/dev/inventory", False),
        ("C:\\Users\\me", True),
        ("http://mirror.local:8080/packages", True),
        ("pip install --index-url x", True),
        ("src/home/x.py and ../home/x", False),
        ("~/.local/share/holdfast", False),
        ("a proxy, a mirror and a registry", False),
    ],
)
def test_what_counts_as_a_machine_or_a_registry(line: str, is_one: bool) -> None:
    assert bool(_MACHINE_PATH.search(line) or _REGISTRY.search(line)) is is_one


# Examples


@pytest.mark.parametrize("document", sorted((ROOT / "docs").glob("*.md")), ids=named)
def test_python_examples_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shared: dict[str, object] = {"__name__": "example"}
    for language, code in code_blocks(document):
        if language == "python":
            exec(compile(code, str(document), "exec"), shared)
