"""`holdfast wrap`: an agent, started with a gateway of its own.

Rule: the agent is told by its environment, its arguments and throwaway files alone; none of the user's files is
touched. The exit code is the agent's.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from msgspec.structs import replace

from holdfast.agents.viewer_process import ViewerProcess
from holdfast.cli.gateway import (
    check_extra,
    chosen_upstreams,
    close_recorder,
    exchange_spans,
    gateway_address,
    mode_options,
    say_viewer,
    texts_folder,
    upstream_options,
    view_option,
    warn_of_missed,
    where_recorded,
)
from holdfast.cli.options import common_options, complete_with
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import note, warn
from holdfast.cli.wrapped_agents import AGENTS, URL, AgentStart
from holdfast.config import load_config
from holdfast.errors import InputError, suggest
from holdfast.gateway.access import AccessRules
from holdfast.gateway.late_start import start_late
from holdfast.gateway.settings import GatewaySettings
from holdfast.gateway.wires import WIRES, Wire
from holdfast.numbers import counted
from holdfast.store import open_store

EXAMPLES = """\b
Examples:
  holdfast wrap claude
  holdfast wrap --view claude
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
@view_option
@mode_options
@upstream_options
@common_options
@click.argument(
    "agent",
    nargs=-1,
    type=click.UNPROCESSED,
    required=True,
    metavar="NAME [ARGS]...",
    shell_complete=complete_with("wrapped_agents"),
)
@click.pass_context
def command(
    ctx: click.Context,
    variables: tuple[str, ...],
    agent: tuple[str, ...],
    view: bool,
    settings: GatewaySettings,
    anthropic_upstream: str,
    openai_upstream: str,
    gemini_upstream: str,
) -> None:
    """Start an agent with a gateway of its own, which records what it sends.

    NAME is aider, claude, codex, gemini, mini, opencode, pi or qwen, or the path of one, or with --base-url-env any
    program. Only the agent's environment and arguments say where the gateway is; none of your files is changed.
    Requests go where the agent would have sent them. The exit code is the agent's.
    """
    given: dict[Wire, str] = {
        "anthropic": anthropic_upstream,
        "openai": openai_upstream,
        "gemini": gemini_upstream,
    }
    start, arguments = find_agent(agent, variables, [wire for wire in WIRES if given[wire]])
    upstreams = chosen_upstreams(**{wire: given[wire] or start.upstreams.get(wire, "") for wire in WIRES})
    check_extra()
    # Imported late: it loads the server.
    from holdfast.gateway.serving import in_thread, open_socket  # noqa: PLC0415

    spans = exchange_spans(ctx)
    store = ctx.with_resource(open_store(store_place(ctx)))
    listening = open_socket("127.0.0.1", 0)
    texts = texts_folder(store_place(ctx))
    gateway, recorder = start_late(
        upstreams,
        access=AccessRules(),
        store=store,
        settings=settings,
        files=texts,
        config=load_config(cwd=Path.cwd(), env=os.environ),
        observers=spans,
    )
    try:
        with in_thread(gateway, listening):
            if view:
                # Before the agent has the terminal.
                say_viewer(ctx.with_resource(ViewerProcess(store_place(ctx))))
            url = gateway_address("127.0.0.1", listening.getsockname()[1], "")
            code = run_agent(start, arguments, url, texts if settings.mode != "watch" else None)
    finally:
        close_recorder(recorder)
        listening.close()
    warn_of_missed(recorder)
    if recorder.error:
        warn(f"nothing was recorded: {recorder.error}")
    elif recorder.taken:
        note(f"{counted(recorder.taken, 'request')} passed; {where_recorded(ctx)}")
    else:
        note(f"`{start.program}` sent nothing through the gateway, so nothing was recorded")
    ctx.exit(code)


def find_agent(
    words: Sequence[str], variables: Sequence[str], chosen: Collection[Wire]
) -> tuple[AgentStart, list[str]]:
    """What to start, and its arguments. Raises InputError for a program that is not known or not there."""
    name, *arguments = words
    if variables:
        pairs = [variable.partition("=") for variable in variables]
        if unnamed := next(("=" + path for variable, _, path in pairs if not variable), ""):
            raise InputError(
                f"`{unnamed}` names no variable", hint="give one such as `--base-url-env MY_URL=/v1`"
            )
        start = AgentStart(name, {variable: URL + path for variable, _, path in pairs})
    elif (known := Path(name).name) in AGENTS:
        start = replace(AGENTS[known](os.environ, chosen), program=name)
    else:
        raise InputError(
            f"`{name}` is not a known agent",
            hint=suggest(name, AGENTS, lists=True, more="for any other give `--base-url-env NAME`"),
        )
    if shutil.which(start.program) is None:
        raise InputError(f"there is no program `{start.program}`", hint="install it, or give its path")
    return start, arguments


def run_agent(start: AgentStart, arguments: Sequence[str], url: str, texts: Path | None = None) -> int:
    """Run the agent to its end: its exit code, or 128 and the number of the signal that ended it, as in a shell."""
    with TemporaryDirectory(prefix="holdfast-wrap-") as folder, _signals_for_the_agent() as started:
        filled = start.filled(url, folder, str(texts or ""))
        for name, content in filled.files.items():
            (Path(folder) / name).write_text(content, "utf-8")
        words = [filled.program, *filled.arguments, *arguments]
        try:
            agent = subprocess.Popen(words, env={**os.environ, **filled.environment})  # noqa: S603 - the person's own program
        except OSError as error:
            raise InputError(
                f"`{filled.program}` cannot be started: {error.strerror}",
                hint="is it a program for this machine, and is the interpreter in its first line there?",
            ) from None
        started(agent)
        code = agent.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _signals_for_the_agent() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Signals end the agent and not this program, which cleans up after it. Gives what to call with the agent, once
    it is started.

    A terminal sends Ctrl-C to the agent too; what only this program was sent is passed on to the agent, at once or
    as soon as it is started.
    """
    running: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if running:
            running[0].send_signal(number)
        else:
            early.append(number)

    def started(agent: subprocess.Popen[bytes]) -> None:
        running.append(agent)
        for number in early:
            agent.send_signal(number)

    # Handlers, unlike SIG_IGN, are not inherited.
    before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
