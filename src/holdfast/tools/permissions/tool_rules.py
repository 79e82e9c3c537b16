"""A person's rules for tools, as data: `Bash(git show:*)`, `Edit(src/**)`, `Read`, `WebFetch(domain:example.com)`,
`mcp__server__tool`.

Rule: deny beats ask beats allow. A rule that cannot be read is an error that names it and its file, never a rule
that matches nothing. Path patterns are matched against the file itself, with links resolved.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from holdfast.errors import ConfigError, describe_value, suggest
from holdfast.messages import Json
from holdfast.tools.access import Access, SandboxChoice
from holdfast.tools.permissions.command_rules import CommandRule, parse_command_rule
from holdfast.tools.search.path_patterns import BadGlob, glob_pattern
from holdfast.tools.web_address import web_site

PermissionMode = Literal["plan", "ask", "edit", "auto"]
"""`plan` changes nothing, `ask` asks before each change, `edit` allows edits of files and commands in the sandbox,
`auto` asks only about `full` access, where a rule says so, and about commands that no sandbox holds."""
RuleKind = Literal["allow", "ask", "deny"]
LISTS: tuple[RuleKind, ...] = ("allow", "ask", "deny")
PATH_LISTS = ("variables", "hidden", "folders")
COVERS: dict[str, frozenset[str]] = {
    "Read": frozenset({"Read", "LS", "Glob", "Grep"}),
    "Edit": frozenset({"Edit", "MultiEdit", "Write"}),
}
"""Which tools a rule covers: `Read` all that read files, `Edit` all that change them."""
PATH_TOOLS = COVERS["Read"] | COVERS["Edit"]
HARMLESS_TOOLS = ("BashOutput", "BashStop", "TodoWrite", "Recall", "AskUser", "Skill")
"""Tools that change nothing but the session itself."""

WEB_TOOLS = ("WebFetch", "WebSearch")
"""Tools that reach the web."""

_FOR_COMMANDS = re.compile(r"\s*Bash\s*(?:\(|$|with\s)")
_FORM = re.compile(r"([A-Za-z][\w.-]*\*?)(?:\((.*)\))?(\s+with\s+private)?", re.DOTALL)
_DOMAIN = re.compile(r"domain:((?:\*\.)?[\w.-]+|\[[\da-f:.]+\]|\*)(:\d{1,5})?")


class ToolRule(Struct, frozen=True):
    """A tool, and the paths or sites that the rule covers; all if there is no pattern. With `is_private` the sites
    may be at addresses of this machine and its network."""

    tool: str
    paths: re.Pattern[str] | None
    text: str
    is_private: bool = False

    def matches(self, tool: str, path: str) -> bool:
        if not self._names(tool):
            return False
        # A pattern for what is in a folder also means the folder.
        return not self.paths or any(self.paths.fullmatch(spelled) for spelled in (path, f"{path}/"))

    def _names(self, tool: str) -> bool:
        if self.tool.startswith("mcp__"):
            is_server = self.tool.endswith("*") or self.tool.count("__") == 1
            server = self.tool.removesuffix("*").removesuffix("__")
            return tool == self.tool or (is_server and f"{tool}__".startswith(f"{server}__"))
        return tool in COVERS.get(self.tool, {self.tool})


class CommandRules(Struct, frozen=True):
    """A person's rules for commands."""

    allow: tuple[CommandRule, ...] = ()
    ask: tuple[CommandRule, ...] = ()
    deny: tuple[CommandRule, ...] = ()


class Permissions(Struct, frozen=True):
    """A `[permissions]` table: rules for commands, rules for other tools, and the sandbox of commands."""

    commands: CommandRules = CommandRules()
    allow: tuple[ToolRule, ...] = ()
    ask: tuple[ToolRule, ...] = ()
    deny: tuple[ToolRule, ...] = ()
    mode: PermissionMode = "ask"
    sandbox: SandboxChoice = "auto"
    network: bool = False
    variables: tuple[str, ...] = ()
    """Variables that commands get although their names look like secrets."""
    hidden: tuple[str, ...] = ()
    """More files that commands cannot read; `!PATH` shows a default one again."""
    folders: tuple[str, ...] = ()
    """Folders besides the workspace that commands may work in."""

    def allowing(self, rule: str, where: str = "an approved rule") -> "Permissions":
        """These permissions with one more rule that a person gave."""
        return self.adding("allow", rule, where)

    def adding(self, kind: RuleKind, rule: str, where: str, *, tools: Iterable[str] = ()) -> "Permissions":
        """These permissions with one more rule in a list. `tools` are further tools that it may name."""
        own = parse_permissions({kind: [rule]}, where, tools=tools)
        return self.overlaid(own, ())

    def without(self, rule: str) -> "Permissions":
        """These permissions without a rule, in whichever list it is."""
        kept = {name: tuple(one for one in getattr(self, name) if one.text != rule) for name in LISTS}
        commands = {
            name: tuple(one for one in getattr(self.commands, name) if one.text != rule) for name in LISTS
        }
        return replace(self, commands=CommandRules(**commands), **kept)

    def overlaid(self, other: "Permissions", given: Collection[str]) -> "Permissions":
        """These permissions under those of another table: lists have what is in both, and of the rest what is
        `given` there counts."""
        added = {name: (*getattr(self, name), *getattr(other, name)) for name in (*LISTS, *PATH_LISTS)}
        both = {name: (*getattr(self.commands, name), *getattr(other.commands, name)) for name in LISTS}
        chosen = {name: getattr(other, name) for name in ("mode", "sandbox", "network") if name in given}
        return replace(self, commands=CommandRules(**both), **added, **chosen)

    def may_reach(self, site: str) -> bool:
        """Whether a rule lets WebFetch reach a site at an address of this machine or its network."""
        return any(rule.is_private and rule.matches("WebFetch", site) for rule in self.allow)

    @property
    def usual_access(self) -> Access:
        """What a command may touch that asks for nothing."""
        return "network" if self.network else "write"


def parse_permissions(table: Mapping[str, Json], where: str, *, tools: Iterable[str] = ()) -> Permissions:
    """A `[permissions]` table. `tools` are further tools that rules may name, besides the built-in ones."""
    known = (*LISTS, "mode", "sandbox", "network", *PATH_LISTS)
    for key in table:
        if key not in known:
            names = ", ".join(f"`{name}`" for name in known)
            raise ConfigError(f"{where}: unknown key `permissions.{key}`", hint=f"there are {names}")
    lists = {key: _texts(table.get(key, []), f"{where}: `permissions.{key}`") for key in LISTS}
    of_commands, of_tools = {}, {}
    for key, texts in lists.items():
        place = f"{where}: `permissions.{key}`"
        of_commands[key] = tuple(
            parse_command_rule(text, place) for text in texts if _FOR_COMMANDS.match(text)
        )
        for rule in of_commands[key] if key != "allow" else ():
            if rule.access:
                raise ConfigError(
                    f"{place}: `{rule.text}` names an access level, which only rules of `allow` can",
                    hint="leave it out: the rule holds at every level",
                )
        of_tools[key] = tuple(
            parse_tool_rule(text, place, tools) for text in texts if not _FOR_COMMANDS.match(text)
        )
    return Permissions(
        commands=CommandRules(**of_commands),
        **of_tools,
        mode=_choice(table, "mode", get_args(PermissionMode), "ask", where),
        sandbox=_choice(table, "sandbox", get_args(SandboxChoice), "auto", where),
        network=_choice(table, "network", (True, False), False, where),
        variables=tuple(_texts(table.get("variables", []), f"{where}: `permissions.variables`")),
        hidden=_hidden(table.get("hidden", []), where),
        folders=_folders(table.get("folders", []), where),
    )


def parse_tool_rule(text: str, where: str, tools: Iterable[str] = ()) -> ToolRule:
    form = _FORM.fullmatch(text.strip())
    if not form:
        raise ConfigError(
            f"{where}: `{text}` is not a rule", hint="write `Edit(src/**)`, `Read` or `Bash(make test)`"
        )
    tool, inner = form[1], form[2]
    known = [*sorted(PATH_TOOLS), "Bash", *HARMLESS_TOOLS, *WEB_TOOLS, *tools]
    if tool not in known and not (tool.startswith("mcp__") and tool.strip("_") != "mcp"):
        raise ConfigError(
            f"{where}: `{text}` names no tool",
            hint=suggest(tool, known, more="tools of servers begin with `mcp__`"),
        )
    if tool == "WebFetch" and (inner is not None or form[3]):
        return _site_rule(text, where, (inner or "").strip().lower(), is_private=bool(form[3]))
    if form[3]:
        raise ConfigError(
            f"{where}: `{text}`: only rules for WebFetch take `with private`",
            hint="write `WebFetch(domain:docs.internal) with private`",
        )
    if inner is None or inner.strip() in ("*", "**"):
        return ToolRule(tool, None, text.strip())
    if tool not in PATH_TOOLS:
        raise ConfigError(
            f"{where}: `{text}`: rules for {tool} take no pattern",
            hint=f"write `{tool}` alone to mean every call",
        )
    spelled = inner.strip()
    if not spelled:
        raise ConfigError(
            f"{where}: `{text}` has an empty pattern", hint="leave out the brackets to mean every path"
        )
    if ".." in spelled.split("/") or spelled.startswith("~"):
        raise ConfigError(
            f"{where}: `{text}`: a pattern may not hold `..` or begin with `~`",
            hint="paths start at the root",
        )
    try:
        paths = glob_pattern(f"{spelled}**" if spelled.endswith("/") else spelled)
    except BadGlob as error:
        raise ConfigError(f"{where}: `{text}`: the pattern is wrong: {error}") from None
    return ToolRule(tool, paths, text.strip())


def _site_rule(text: str, where: str, inner: str, *, is_private: bool) -> ToolRule:
    """A rule for a domain, at any port unless it names one; `*.` stands for what is below a domain."""
    form = _DOMAIN.fullmatch(inner)
    name = form[1].removeprefix("*.") if form else ""
    # Spelled as it is in addresses; otherwise the rule would match nothing.
    site = name if name == "*" else web_site(f"http://{name}")
    if not form or not site:
        raise ConfigError(
            f"{where}: `{text}` names no domain",
            hint="write `WebFetch(domain:example.com)`, `WebFetch(domain:*.example.com)` or `WebFetch`",
        )
    if is_private and form[1].startswith("*"):
        raise ConfigError(
            f"{where}: `{text}`: `with private` needs the name of one host",
            hint="write `WebFetch(domain:localhost:8000) with private`",
        )
    below = r"[^:\[\]]+\." if form[1].startswith("*.") else ""
    host = r".+" if name == "*" else below + re.escape(site)
    port = f":{int(form[2][1:])}" if form[2] else r"(:\d+)?"
    if port in (":80", ":443"):
        port = f"({port})?"  # A site has no port where it is the usual one.
    return ToolRule("WebFetch", re.compile(host + port), text.strip(), is_private)


def _hidden(value: Json, where: str) -> tuple[str, ...]:
    paths = _texts(value, f"{where}: `permissions.hidden`")
    for path in paths:
        if not path.removeprefix("!").strip().startswith(("/", "~/")) or any(mark in path for mark in "*?["):
            raise ConfigError(
                f"{where}: `{path}` in `permissions.hidden` is not the path of a file or folder",
                hint="write the whole path, or one from your home folder: `~/.netrc.work`; no wildcards",
            )
    return tuple(paths)


def _folders(value: Json, where: str) -> tuple[str, ...]:
    folders = _texts(value, f"{where}: `permissions.folders`")
    for folder in folders:
        if not folder.strip("/") or not folder.startswith("/") or ".." in folder.split("/"):
            raise ConfigError(
                f"{where}: `{folder}` in `permissions.folders` is not the path of a folder below `/`",
                hint="write the whole path, without `..`",
            )
    return tuple(folder.rstrip("/") or "/" for folder in folders)


def _texts(value: Json, where: str) -> list[str]:
    if not isinstance(value, list):
        raise ConfigError(f"{where} should be a list of texts, found {describe_value(value)}")
    for one in value:
        if not isinstance(one, str):
            raise ConfigError(f"{where} should hold only texts, found {describe_value(one)}")
    return value


def _choice(
    table: Mapping[str, Json], key: str, choices: tuple[Json, ...], default: Json, where: str
) -> Json:
    value = table.get(key, default)
    # `1` is `True` in Python.
    if isinstance(value, type(default)) and value in choices:
        return value
    names = "true or false" if default is False else "one of " + ", ".join(f"`{one}`" for one in choices)
    raise ConfigError(f"{where}: `permissions.{key}` should be {names}, found {describe_value(value)}")
