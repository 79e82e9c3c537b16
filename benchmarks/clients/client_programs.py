"""How each client is started against an address, and where its answer is.

Rule: a throwaway home, a throwaway repository, and an environment that holds nothing but what is named here.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from clients.installed import PACKAGES, Package
from clients.scenario import Scenario
from clients.scenarios import edit, submitting

MODEL_WINDOW = 1_000_000
"""What clients are told of their model's window, so that none summarizes by itself."""


class Place(Struct, frozen=True):
    """Where a client is started, at which address, and what it is asked to do."""

    url: str
    home: Path
    folder: Path
    task: str


class Ended(Struct, frozen=True):
    """What a client printed, and its home."""

    printed: str
    home: Path


class Start(Struct, frozen=True):
    """What a client is started with."""

    arguments: list[str]
    environment: dict[str, str] = {}


class ClientProgram(Struct, frozen=True):
    """`start` writes the client's files into its home or the folder and says how to call it. `answer` finds the
    final text in what it printed. `adapt` makes a scenario one that this client can follow."""

    name: str
    wire: str
    model: str
    start: Callable[[Place], Start]
    answer: Callable[[Ended], str]
    adapt: Callable[[Scenario], Scenario] = lambda scenario: scenario
    package_name: str = ""
    leaves: tuple[str, ...] = ()
    """Files of its own that the client leaves in the folder."""

    @property
    def package(self) -> Package:
        return PACKAGES[self.package_name or self.name]


def minimal_environment(home: Path, own: dict[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    identity = {"GIT_AUTHOR_NAME": "Someone", "GIT_AUTHOR_EMAIL": "someone@example.com"}
    identity |= {"GIT_COMMITTER_NAME": "Someone", "GIT_COMMITTER_EMAIL": "someone@example.com"}
    return {**passed, **identity, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", **own}


def _own_node(name: str) -> dict[str, str]:
    """The Node that was installed beside the client comes first."""
    return {"PATH": f"{PACKAGES[name].path.parent}{os.pathsep}{os.environ['PATH']}"}


def _claude(place: Place) -> Start:
    words = [
        "-p",
        place.task,
        "--model",
        "claude-opus-5-5",
        "--allowedTools",
        "Bash",
        "Read",
        "--output-format",
        "json",
    ]
    own = {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "sk-ant-loopback",
        "DISABLE_AUTOUPDATER": "1",
    }
    return Start(words, {**own, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})


def _codex(place: Place) -> Start:
    # The sandbox of Codex needs user namespaces, which containers seldom have.
    words = [
        "exec",
        "-c",
        f'openai_base_url="{place.url}/v1"',
        "-m",
        "gpt-5.5",
        "--skip-git-repo-check",
        "--json",
    ]
    free = "--dangerously-bypass-approvals-and-sandbox"
    return Start([*words, free, place.task], {"CODEX_API_KEY": "x", "OPENAI_API_KEY": "x"})


def _opencode(provider: dict[str, Any], model: str) -> Callable[[Place], Start]:
    def start(place: Place) -> Start:
        own = json.loads(json.dumps(provider).replace("<address>", place.url))
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": model,
            "small_model": model,
            "provider": own,
        }
        text = json.dumps({**settings, "permission": "allow"})
        told = {"OPENCODE_CONFIG_CONTENT": text, "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        told |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
        return Start(["run", place.task, "--format", "json"], told)

    return start


def _limits() -> dict[str, int]:
    return {"context": MODEL_WINDOW, "output": 8_000}


OPENCODE_CHAT = {
    "loopback": {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": "<address>/v1", "apiKey": "x"},
        "models": {"gpt-6-sol": {"limit": _limits()}},
    }
}
OPENCODE_ANTHROPIC = {
    "anthropic": {
        "options": {"baseURL": "<address>/v1", "apiKey": "x"},
        "models": {"claude-opus-5-5": {"limit": _limits()}},
    }
}


def _gemini(place: Place) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
    (place.home / ".gemini").mkdir()
    (place.home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    words = ["--skip-trust", "-m", "gemini-3.8-flash", "-y", "-p", place.task, "--output-format", "json"]
    return Start(words, {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": place.url})


def _qwen(place: Place) -> Start:
    own = {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{place.url}/v1", "OPENAI_MODEL": "gpt-6-sol"}
    return Start(["--auth-type", "openai", "-y", "-p", place.task], own)


def _pi(place: Place) -> Start:
    model = {
        "id": "gpt-6-sol",
        "name": "gpt-6-sol",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": MODEL_WINDOW,
        "maxTokens": 8_000,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {"baseUrl": f"{place.url}/v1", "api": "openai-completions", "apiKey": "x", "models": [model]}
    (place.home / ".pi" / "agent").mkdir(parents=True)
    models = place.home / ".pi" / "agent" / "models.json"
    models.write_text(json.dumps({"providers": {"loopback": provider}}), encoding="utf-8")
    words = ["--provider", "loopback", "--model", "gpt-6-sol", "-p", place.task]
    return Start(words, {"PI_OFFLINE": "1"} | _own_node("pi"))


def _aider(place: Place) -> Start:
    words = ["--model", "openai/gpt-6-sol", "--edit-format", "whole", "--yes-always", "--no-check-update"]
    words += ["--no-show-model-warnings", "--analytics-disable", "--no-show-release-notes"]
    words += [
        "--no-detect-urls",
        "--no-gitignore",
        "--map-tokens",
        "0",
        "--message",
        place.task,
        "greeting.py",
    ]
    own = {
        "OPENAI_API_BASE": f"{place.url}/v1",
        "OPENAI_API_KEY": "x",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return Start(words, own)


def _mini(place: Place) -> Start:
    words = ["-m", "openai/gpt-6-sol", "-t", place.task, "-y", "--exit-immediately", "--cost-limit", "0"]
    words += ["-o", str(place.home / "out.traj.json")]
    own = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1"}
    own |= {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "OPENAI_API_KEY": "x",
        "OPENAI_API_BASE": f"{place.url}/v1",
    }
    return Start(words, own)


def _json_field(name: str) -> Callable[[Ended], str]:
    """The answer of a client that prints one JSON object at the end."""

    def answer(ended: Ended) -> str:
        return str(json.loads(ended.printed[ended.printed.index("{") :]).get(name))

    return answer


def _json_lines(kind: str, text: Callable[[Any], str]) -> Callable[[Ended], str]:
    """The answer of a client that prints events, one a line: the last text of a kind."""

    def answer(ended: Ended) -> str:
        events = [json.loads(line) for line in ended.printed.splitlines() if line.startswith("{")]
        return next((text(one) for one in reversed(events) if one.get("type") == kind and text(one)), "")

    return answer


def _codex_text(event: Any) -> str:
    item = event.get("item") or {}
    return str(item.get("text") or "") if item.get("type") == "agent_message" else ""


def _last_line(ended: Ended) -> str:
    return next((line.strip() for line in reversed(ended.printed.splitlines()) if line.strip()), "")


def _submission(ended: Ended) -> str:
    return str(
        json.loads((ended.home / "out.traj.json").read_text(encoding="utf-8"))["info"].get("submission")
    )


def _applied(ended: Ended) -> str:
    return next((line.strip() for line in ended.printed.splitlines() if line.startswith("Applied edit")), "")


CLIENTS = {
    client.name: client
    for client in (
        ClientProgram("claude", "anthropic", "claude-opus-5-5", _claude, _json_field("result")),
        ClientProgram("codex", "responses", "gpt-5.5", _codex, _json_lines("item.completed", _codex_text)),
        ClientProgram(
            "opencode",
            "chat",
            "gpt-6-sol",
            _opencode(OPENCODE_CHAT, "loopback/gpt-6-sol"),
            _json_lines("text", lambda event: str(event["part"].get("text") or "")),
        ),
        ClientProgram(
            "opencode-anthropic",
            "anthropic",
            "claude-opus-5-5",
            _opencode(OPENCODE_ANTHROPIC, "anthropic/claude-opus-5-5"),
            _json_lines("text", lambda event: str(event["part"].get("text") or "")),
            package_name="opencode",
        ),
        ClientProgram("gemini", "gemini", "gemini-3.8-flash", _gemini, _json_field("response")),
        ClientProgram("qwen", "chat", "gpt-6-sol", _qwen, _last_line),
        ClientProgram("pi", "chat", "gpt-6-sol", _pi, _last_line),
        ClientProgram("mini", "chat", "gpt-6-sol", _mini, _submission, adapt=submitting),
        ClientProgram(
            "aider",
            "chat",
            "gpt-6-sol",
            _aider,
            _applied,
            adapt=lambda _: edit(),
            leaves=(".aider.chat.history.md", ".aider.input.history", ".aider.tags.cache.v4"),
        ),
    )
}
