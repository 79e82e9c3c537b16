"""Own sub-agents: kinds of sub-agents that a person or a project describes in Markdown files.

Rule: a kind narrows and never widens: its text is added to the prompt of every sub-agent, and of the tools that a
call gives it takes some away. Files are read once in a session: their list is in the cached part of a request.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct

from holdfast.agents.coding.own_commands import read_effort
from holdfast.agents.prompt_files import PromptFile, PromptFolder, read_prompt_files
from holdfast.effort import Effort
from holdfast.tools.skill_files import FrontmatterError, in_one_line, read_checked, read_text, read_texts

LONGEST_ABOUT = 300
MOST_LISTED = 40
_NAME = re.compile(r"[a-z0-9][\w-]{0,63}")


class SubAgentKind(Struct, frozen=True):
    """`tools` are those that it may have at most, None for all; `without` are those that it never has."""

    name: str
    about: str
    shown: str
    """The path of its file."""
    prompt: str
    tools: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    model: str = ""
    """A model of the catalogue; whatever else a file names counts as none."""
    effort: Effort | None = None

    def has(self, tool: str) -> bool:
        return (self.tools is None or tool in self.tools) and tool not in self.without


class SubAgentKinds(Struct, frozen=True):
    by_name: dict[str, SubAgentKind]
    warnings: tuple[str, ...] = ()

    def describe(self, acting: Iterable[str]) -> str:
        """The kinds, for the definition of the tool; `acting` are tools that a call must ask for."""
        listed = list(self.by_name.values())[:MOST_LISTED]
        rows = [f"- {one.name}: {one.about}{_needs(one, acting)}" for one in listed]
        if more := len(self.by_name) - len(listed):
            rows.append(f"({more} more are not listed.)")
        return "\n".join(["Kinds of sub-agents, for `subagent_type`:", *rows])


def _needs(kind: SubAgentKind, acting: Iterable[str]) -> str:
    acts = sorted((kind.tools or frozenset()) & set(acting) - kind.without)
    return f" (for {', '.join(acts)} it needs `writes`)" if acts else ""


def load_sub_agents(folders: Sequence[PromptFolder]) -> SubAgentKinds:
    files, warnings = read_prompt_files(folders)
    kinds: dict[str, SubAgentKind] = {}
    for file in files:
        made = read_checked(file.path, partial(_kind, file))
        if isinstance(made, str):
            warnings.append(f"{made}; the sub-agent is left out")
        elif made.name in kinds:
            warnings.append(
                f"{file.shown}: the sub-agent `{made.name}` is already in {kinds[made.name].shown}"
            )
        else:
            kinds[made.name] = made
    return SubAgentKinds(dict(sorted(kinds.items())), tuple(warnings))


def _kind(file: PromptFile) -> SubAgentKind:
    field = file.document.field
    name = read_text(field("name")) or file.path.stem.lower()
    if not _NAME.fullmatch(name):
        raise FrontmatterError(
            field("name").line, f"the name `{name[:80]}` does not fit: letters, digits, hyphens"
        )
    about = in_one_line(" ".join(read_text(field("description")).split()))
    if not about:
        raise FrontmatterError(1, "there is no `description`")
    if not file.document.body.strip():
        raise FrontmatterError(1, "there is no text below the head")
    listed = read_texts(field("tools"))
    return SubAgentKind(
        name=name,
        about=about if len(about) <= LONGEST_ABOUT else f"{about[:LONGEST_ABOUT]}…",
        shown=file.shown,
        prompt=file.document.body,
        # A name with a pattern behind it, such as `Bash(git:*)`, is narrower than the tool, so it does not give it.
        tools=frozenset(listed) if listed and "*" not in listed else None,
        without=frozenset(one.partition("(")[0] for one in read_texts(field("disallowedTools"))),
        model=in_one_line(read_text(field("model"))),
        effort=read_effort(field("effort")),
    )
