"""How each agent that `holdfast wrap` knows is pointed at the gateway.

Rule: by its environment, its arguments and throwaway files alone. An address that the user had set for the agent is
where the gateway sends its requests: a key goes to no other host than before.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.errors import InputError
from holdfast.gateway.wires import Wire

URL, FOLDER, TEXTS = "{url}", "{folder}", "{texts}"
"""Stand for the gateway's address, for the folder of an agent's throwaway files, and for that of whole texts."""

Environment = Mapping[str, str]


class AgentStart(Struct, frozen=True):
    """What an agent is started with. `upstreams` are the addresses that the user had set for it."""

    program: str
    environment: dict[str, str] = {}
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = {}
    upstreams: dict[Wire, str] = {}
    may_read: str = ""
    """An argument, the first one, that lets it read in the folder of whole texts without asking."""

    def filled(self, url: str, folder: str = "", texts: str = "") -> "AgentStart":
        """The same, with address and folders in their places. Without a folder of texts there is none to read."""

        def fill(text: str) -> str:
            return text.replace(URL, url).replace(FOLDER, folder).replace(TEXTS, texts)

        return AgentStart(
            self.program,
            {name: fill(value) for name, value in self.environment.items()},
            (*((fill(self.may_read),) if self.may_read and texts else ()), *map(fill, self.arguments)),
            {name: fill(content) for name, content in self.files.items()},
            self.upstreams,
        )


AgentStarter = Callable[[Environment, Collection[Wire]], AgentStart]
"""Says how an agent is started in an environment. For the providers in the collection an option of the command
line says where requests go, and what the user had set does not count."""

VARIABLES: dict[Wire, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL",),
}
"""Variables in which agents look for a provider's address."""

LITELLM: dict[Wire, str] = {"openai": "/v1", "anthropic": ""}


def by_variables(program: str, paths: Mapping[Wire, str], may_read: str = "") -> AgentStarter:
    """An agent that reads variables. `paths` are what it expects after the address, for each provider."""

    def start(environment: Environment, chosen: Collection[Wire]) -> AgentStart:
        told: dict[str, str] = {}
        own: dict[Wire, str] = {}
        for wire, path in paths.items():
            names = () if wire in chosen else VARIABLES[wire]
            if given := next((environment[name] for name in names if environment.get(name)), ""):
                own[wire] = given
            told |= dict.fromkeys(VARIABLES[wire], _agent_address(given, path))
        return AgentStart(program, told, upstreams=own, may_read=may_read)

    return start


def _agent_address(own: str, path: str) -> str:
    """The address that an agent is told: it ends as its own did, so that the paths after it are the same."""
    version = re.search(r"/v1(?:beta|alpha)?/?$", own)
    return URL + ((version[0] if version else "") if own else path)


def start_codex(environment: Environment, chosen: Collection[Wire]) -> AgentStart:
    """Codex takes settings as arguments. The provider that its configuration names is pointed elsewhere."""
    config = _read(environment, "CODEX_HOME", "~/.codex", "config.toml", tomllib.loads)
    name = str(config.get("model_provider") or "openai")
    provider = _table(_table(config.get("model_providers")).get(name))
    key = f"model_providers.{name}.base_url" if provider else "openai_base_url"
    own = str((provider.get("base_url") if provider else config.get(key)) or "")
    if "openai" in chosen:
        own = ""
    arguments = ("-c", f'{key}="{_agent_address(own, "/v1")}"')
    return AgentStart("codex", arguments=arguments, upstreams={"openai": own} if own else {})


def start_opencode(environment: Environment, chosen: Collection[Wire]) -> AgentStart:
    """opencode reads variables for two providers. The third needs configuration, which would list its models even
    for somebody without a key."""
    start = by_variables("opencode", {"anthropic": "/v1", "openai": "/v1"})(environment, chosen)
    if not environment.get("GOOGLE_GENERATIVE_AI_API_KEY"):
        return start
    name = "OPENCODE_CONFIG_CONTENT"
    try:
        config = json.loads(environment.get(name) or "{}")
        options = config.setdefault("provider", {}).setdefault("google", {}).setdefault("options", {})
        options.setdefault("baseURL", f"{URL}/v1beta")
    except (ValueError, AttributeError):
        raise InputError(f"`{name}` holds no JSON object that could be added to", hint="unset it") from None
    return AgentStart("opencode", {**start.environment, name: json.dumps(config)}, upstreams=start.upstreams)


PI_PROVIDERS: dict[str, tuple[Wire, str]] = {
    "anthropic": ("anthropic", ""),
    "openai": ("openai", "/v1"),
    "google": ("gemini", "/v1beta"),
}
PI_EXTENSION = "holdfast-gateway.js"


def start_pi(environment: Environment, chosen: Collection[Wire]) -> AgentStart:
    """pi takes an extension for one run, which may give a provider another address."""
    config = _read(environment, "PI_CODING_AGENT_DIR", "~/.pi/agent", "models.json", json.loads)
    configured = _table(config.get("providers"))
    lines: list[str] = []
    own: dict[Wire, str] = {}
    for name, (wire, path) in PI_PROVIDERS.items():
        given = "" if wire in chosen else str(_table(configured.get(name)).get("baseUrl") or "")
        if given:
            own[wire] = given
        lines.append(
            f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(_agent_address(given, path))} }});"
        )
    extension = "\n".join(["export default function (pi) {", *lines, "}", ""])
    arguments = ("--extension", f"{FOLDER}/{PI_EXTENSION}")
    return AgentStart("pi", arguments=arguments, files={PI_EXTENSION: extension}, upstreams=own)


def _read(
    environment: Environment, variable: str, usual: str, name: str, parse: Callable[[str], Any]
) -> dict[str, Any]:
    """A file of an agent's own settings; nothing where there is none, or none that can be read."""
    home = environment.get(variable) or usual.replace("~", environment.get("HOME", "~"))
    try:
        found = parse((Path(home) / name).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return _table(found)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


AGENTS: dict[str, AgentStarter] = {
    "aider": by_variables("aider", LITELLM),
    "claude": by_variables("claude", {"anthropic": ""}, f"--add-dir={TEXTS}"),
    "codex": start_codex,
    "gemini": by_variables("gemini", {"gemini": ""}),
    "mini": by_variables("mini", LITELLM),
    "opencode": start_opencode,
    "pi": start_pi,
    "qwen": by_variables("qwen", {"openai": "/v1"}),
}
"""Agents that are known, by the name of their program."""
