"""MCP servers as values: how to connect to each and how far it is trusted, read from `[mcp.servers.NAME]`.

Rule: a server's process gets a few harmless environment variables and those that the configuration names, nothing
else, since people keep their keys in the environment.
"""

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from holdfast.errors import ConfigError, describe_value
from holdfast.messages import Json

PLAIN_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at .*)?")
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at .*)?")


class StdioServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that speaks MCP on its standard input and output. `${NAME}` in `env` is replaced by our variable,
    and `pass_env` names variables that are passed on unchanged."""

    command: Annotated[str, Meta(min_length=1)]
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    cwd: str = ""
    start_seconds: _Seconds = 30.0
    call_seconds: _Seconds = 120.0
    stop_seconds: _Seconds = 2.0
    """How long it may take to end: half of it by itself, the other half after it is asked to."""
    trusted: bool = False
    """Whether its claim that a tool only reads is believed."""

    def environment(self, ours: Mapping[str, str], where: str) -> dict[str, str]:
        names = (*PLAIN_VARIABLES, *self.pass_env)
        handed_on = {name: ours[name] for name in names if name in ours}
        return handed_on | {key: _filled(value, ours, where) for key, value in self.env.items()}


class HttpServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A server at a URL (streamable HTTP). `${NAME}` in `headers` is replaced by the environment variable."""

    url: Annotated[str, Meta(pattern=r"^https?://\S+$")]
    headers: dict[str, str] = field(default_factory=dict)
    start_seconds: _Seconds = 30.0
    call_seconds: _Seconds = 120.0
    trusted: bool = False

    def filled_headers(self, ours: Mapping[str, str], where: str) -> dict[str, str]:
        return {key: _filled(value, ours, where) for key, value in self.headers.items()}


Server = StdioServer | HttpServer


def _filled(text: str, ours: Mapping[str, str], where: str) -> str:
    missing = [name for name in _VARIABLE.findall(text) if name not in ours]
    if missing:
        raise ConfigError(
            f"{where} needs the variable `{missing[0]}`, which is not set", hint="set it or name another"
        )
    return _VARIABLE.sub(lambda name: ours[name[1]], text)


def parse_servers(table: Mapping[str, Json], where: str) -> dict[str, Server]:
    """The servers of an `[mcp.servers]` table; ConfigError says what is wrong and where."""
    servers: dict[str, Server] = {}
    for name, entry in table.items():
        place = f"{where}: [mcp.servers.{name}]"
        if not name.strip() or not any(c.isalnum() for c in name):
            raise ConfigError(f"{place} needs a name with a letter or a digit in it")
        if not isinstance(entry, dict):
            raise ConfigError(f"{place} must be a table, not {describe_value(entry)}")
        if ("command" in entry) == ("url" in entry):
            raise ConfigError(
                f"{place} needs either `command` or `url`",
                hint='command = "server" for a program, url = "https://…" for an address',
            )
        takes: type[Server] = StdioServer if "command" in entry else HttpServer
        try:
            servers[name] = msgspec.convert(entry, takes)
        except msgspec.ValidationError as error:
            known = ", ".join(f"`{f.encode_name}`" for f in msgspec.structs.fields(takes))
            raise ConfigError(f"{place} {_sentence(str(error))}", hint=f"it takes {known}") from None
    return servers


def _sentence(message: str) -> str:
    if unknown := _UNKNOWN.fullmatch(message):
        return f"has no setting `{unknown[1]}`"
    if missing := _MISSING.fullmatch(message):
        return f"needs `{missing[1]}`"
    what, _, place = message.partition(" - at `$.")
    return f"`{place.rstrip('`')}` is wrong: {what[:1].lower()}{what[1:]}"
