"""`holdfast wrap`: an agent, started with a gateway of its own.

Rule: the agent is told by its environment and its arguments alone; none of the user's files is touched. The exit
code is the agent's.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence

import click
from msgspec import Struct

from holdfast.cli.gateway import check_extra, chosen_upstreams, gateway_address, upstream_options
from holdfast.cli.inputs import store_path
from holdfast.cli.options import common_options
from holdfast.cli.streams import note, warn
from holdfast.errors import InputError, suggest
from holdfast.gateway.access import AccessRules
from holdfast.numbers import counted
from holdfast.store import SqliteStore


class Client(Struct, frozen=True):
    """How an agent is pointed at another address. `{url}` stands for the gateway's."""

    program: str
    environment: dict[str, str] = {}
    arguments: tuple[str, ...] = ()


OPENAI = {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_BASE": "{url}/v1"}
ANTHROPIC = {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_BASE": "{url}"}
CLIENTS = {
    "aider": Client("aider", OPENAI | ANTHROPIC),
    "claude": Client("claude", ANTHROPIC),
    "codex": Client("codex", arguments=("-c", 'openai_base_url="{url}/v1"')),
    "gemini": Client("gemini", {"GOOGLE_GEMINI_BASE_URL": "{url}"}),
    "mini": Client("mini", OPENAI | ANTHROPIC),
    "qwen": Client("qwen", OPENAI),
}
"""Agents that are known, by the name of their program."""

EXAMPLES = """\b
Examples:
  holdfast wrap claude
  holdfast wrap codex -- exec "run the tests"
  holdfast wrap --base-url-env MY_AGENT_URL -- ./my-agent --verbose
  holdfast wrap --base-url-env MY_AGENT_URL=/v1 -- ./my-agent"""


@click.command(epilog=EXAMPLES, context_settings={"ignore_unknown_options": True})
@click.option(
    "--base-url-env",
    "variables",
    metavar="NAME[=PATH]",
    multiple=True,
    help="Set this variable to the gateway's address, with the path after it.",
)
@upstream_options
@common_options
@click.argument("agent", nargs=-1, type=click.UNPROCESSED, required=True, metavar="NAME [ARGS]...")
@click.pass_context
def command(
    ctx: click.Context,
    variables: tuple[str, ...],
    agent: tuple[str, ...],
    anthropic_upstream: str,
    openai_upstream: str,
    gemini_upstream: str,
) -> None:
    """Start an agent with a gateway of its own, which records what it sends.

    NAME is aider, claude, codex, gemini, mini or qwen, or with --base-url-env any program. Only the agent's
    environment and arguments say where the gateway is; none of your files is changed. The exit code is the agent's.
    """
    client, arguments = find_client(agent, variables)
    upstreams = chosen_upstreams(anthropic_upstream, openai_upstream, gemini_upstream)
    check_extra()
    # Imported late: they load the server.
    from holdfast.gateway.forwarding import Gateway  # noqa: PLC0415
    from holdfast.gateway.recorder import TrafficRecorder  # noqa: PLC0415
    from holdfast.gateway.serving import in_thread, open_socket  # noqa: PLC0415

    recorder = TrafficRecorder(ctx.with_resource(SqliteStore(store_path(ctx))))
    listening = open_socket("127.0.0.1", 0)
    gateway = Gateway(upstreams, access=AccessRules(), listen=recorder)
    try:
        with in_thread(gateway, listening):
            code = run_client(client, arguments, gateway_address("127.0.0.1", listening.getsockname()[1], ""))
    finally:
        recorder.close()
        listening.close()
    if recorder.missed:
        warn(f"{counted(recorder.missed, 'request')} could not be recorded; all were passed on")
    note(f"recorded in {store_path(ctx)}; `holdfast logs` lists what was recorded")
    ctx.exit(code)


def find_client(words: Sequence[str], variables: Sequence[str]) -> tuple[Client, list[str]]:
    """What to start, and its arguments. Raises InputError for a program that is not known or not there."""
    name, *arguments = [word for at, word in enumerate(words) if not (word == "--" and at <= 1)]
    client = CLIENTS.get(name)
    if variables:
        pairs = (variable.partition("=") for variable in variables)
        client = Client(name, {variable: "{url}" + path for variable, _, path in pairs})
    if client is None:
        raise InputError(
            f"`{name}` is no agent that is known",
            hint=suggest(name, CLIENTS, lists=True, more="for any other give `--base-url-env NAME`"),
        )
    if shutil.which(client.program) is None:
        raise InputError(f"there is no program `{client.program}`", hint="install it, or give its path")
    return client, arguments


def run_client(client: Client, arguments: Sequence[str], url: str) -> int:
    """Run the agent to its end: its exit code, or 128 and the number of the signal that ended it, as in a shell."""
    told = {name: value.format(url=url) for name, value in client.environment.items()}
    more = [argument.format(url=url) for argument in client.arguments]
    # Ctrl-C is for the agent, which gets it from the terminal too. A handler, unlike SIG_IGN, is not inherited.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        words = [client.program, *more, *arguments]
        code = subprocess.Popen(words, env={**os.environ, **told}).wait()  # noqa: S603 - the person's own program
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code
