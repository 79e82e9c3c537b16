"""`holdfast gateway`: a local server between agents and their providers, which records what passes."""

import os
import re
import secrets
import shlex
import threading
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import click

from holdfast.agents.viewer_process import ViewerProcess
from holdfast.cli.options import STORE, common_options, complete_with, json_option
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import note, warn
from holdfast.cli.telemetry import requested_provider
from holdfast.config import load_config
from holdfast.errors import InputError
from holdfast.gateway.access import LOOPBACK, AccessRules
from holdfast.gateway.exchange import ExchangeObserver
from holdfast.gateway.late_start import LateRecorder, start_late
from holdfast.gateway.settings import LARGEST_RESULT, MODES, GatewaySettings, Mode
from holdfast.gateway.wires import DEFAULT_UPSTREAMS, WIRES, Wire, check_upstream
from holdfast.numbers import counted
from holdfast.packing.amounts import parse_tokens
from holdfast.store import open_store
from holdfast.store_places import Place, files_beside

PORT = 8427
QUIET_SECONDS = 4.0
"""How long the gateway may take at its end to record what passed, before it says so, and says so again."""
EXTRA = ("httpx2", "uvicorn", "httptools", "uvloop")

EXAMPLES = """\b
Examples:
  holdfast gateway
  holdfast gateway --port 9000 --store traffic.db
  holdfast gateway --view
  holdfast gateway --mode safe --control 10%
  holdfast gateway --mode fold --budget 16k --openai http://127.0.0.1:8080/v1

\b
Then, in another terminal:
  ANTHROPIC_BASE_URL=http://127.0.0.1:8427 claude
  OPENAI_BASE_URL=http://127.0.0.1:8427/v1 your-agent
  holdfast logs
  holdfast gateway stats

\b
`holdfast wrap claude` does both at once."""

STATS_EXAMPLES = """\b
Examples:
  holdfast gateway stats
  holdfast gateway stats l0123456789ab --requests
  holdfast gateway stats --json"""

F = TypeVar("F", bound=Callable[..., object])


def mode_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say what may be done to requests, given to the command as `settings`."""

    @click.option(
        "--mode",
        type=click.Choice(MODES),
        default="watch",
        show_default=True,
        help="Change nothing; shorten large results before they are first sent; or pack the whole history.",
    )
    @click.option(
        "--budget",
        metavar="TOKENS",
        default="",
        help="With fold: pack to so many, such as 16k (default: the model's window, 200k at most).",
    )
    @click.option(
        "--largest-result",
        metavar="TOKENS",
        default=str(LARGEST_RESULT),
        show_default=True,
        help="With safe: shorten a new result that has more.",
    )
    @click.option(
        "--control",
        metavar="SHARE",
        default="0%",
        show_default=True,
        help="Leave this share of the sessions in watch, to compare with.",
    )
    @wraps(function)
    def with_settings(
        *args: object, mode: Mode, budget: str, largest_result: str, control: str, **given: object
    ) -> None:
        if budget and mode != "fold":
            raise InputError("`--budget` is for `--mode fold`", hint="add `--mode fold`, or leave it out")
        function(
            *args,
            settings=GatewaySettings(
                mode,
                control=_share(control),
                budget=_budget(budget) if budget else 0,
                largest_result=parse_tokens(largest_result),
            ),
            **given,
        )

    return with_settings


def _budget(text: str) -> int:
    # Imported late: it reads recordings of every kind.
    from holdfast.cli.inputs import parse_budget  # noqa: PLC0415

    return parse_budget(text)


def _share(text: str) -> float:
    """`10%` or `0.1` as a number."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"`{text}` is no share of the sessions", hint="give one such as 10%")
    return share


def texts_folder(store: Place) -> Path:
    """The folder for texts that were left out of requests, beside the store."""
    file = files_beside(store)
    return file.with_name(f"{file.stem}-texts").absolute()


def upstream_options(function: F) -> F:
    """The options that say where requests go."""
    for wire in reversed(WIRES):
        about = f"Send {wire}'s requests to this address (default: {DEFAULT_UPSTREAMS[wire]})."
        function = click.option(f"--{wire}", f"{wire}_upstream", metavar="URL", default="", help=about)(
            function
        )
    return function


view_option = click.option(
    "--view", is_flag=True, help="Serve the viewer of the same store too, and print its address."
)


def say_viewer(viewer: ViewerProcess) -> None:
    """Say where the viewer is, or why it is not: that ends nothing else."""
    try:
        if address := viewer.address():
            note(f"the viewer is at {address}")
    except InputError as error:
        warn(f"there is no viewer: {error.message}")


@click.group(invoke_without_command=True, epilog=EXAMPLES)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Listen on this port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option(
    "--token",
    envvar="HOLDFAST_GATEWAY_TOKEN",
    default="",
    help="Take only requests whose path begins with it (default: none on loopback, elsewhere a random one).",
)
@click.option(
    "--texts",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep texts that are left out of requests here (default: beside the store).",
)
@view_option
@mode_options
@upstream_options
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    texts: Path | None,
    view: bool,
    port: int,
    host: str,
    token: str,
    settings: GatewaySettings,
    anthropic_upstream: str,
    openai_upstream: str,
    gemini_upstream: str,
) -> None:
    """Pass requests of agents to their providers, and record them.

    An agent is pointed at the gateway by its base URL. Every request is passed on byte for byte, and so is every
    reply; what passes is kept as logs, without keys and secrets, for `holdfast logs`, `show` and the others. With
    --mode, requests are made smaller where that is safe; `stats` says what that saved.
    """
    if ctx.invoked_subcommand is not None:
        return
    upstreams = chosen_upstreams(anthropic_upstream, openai_upstream, gemini_upstream)
    _check_no_circle(upstreams, host, port)
    _check_token(token)
    check_extra()
    # Imported late: it loads the server.
    from holdfast.gateway.serving import Server, open_socket  # noqa: PLC0415

    token = token or ("" if host in LOOPBACK else secrets.token_urlsafe(16))
    place = store_place(ctx)
    folder = texts.expanduser().absolute() if texts else texts_folder(place)
    spans = exchange_spans(ctx)
    listening = open_socket(host, port)
    store = ctx.with_resource(open_store(place))
    address = gateway_address(host, listening.getsockname()[1], token)
    gateway, recorder = start_late(
        upstreams,
        access=AccessRules(token, (host,)),
        store=store,
        settings=settings,
        files=folder,
        config=load_config(cwd=Path.cwd(), env=os.environ),
        observers=spans,
    )

    def say_start() -> None:
        _say_where(ctx, address, upstreams, settings, folder)
        if view:
            viewer = ctx.with_resource(ViewerProcess(place))
            # The gateway does not wait for it.
            threading.Thread(target=say_viewer, args=[viewer], daemon=True).start()

    server = Server(gateway, on_start=say_start, on_wait=_say_waiting)
    recorder.on_failure = server.stop
    try:
        server.serve_on(listening)
    finally:
        close_recorder(recorder)
        listening.close()
        warn_of_missed(recorder)
    if recorder.error:
        raise recorder.error


@command.command(epilog=STATS_EXAMPLES)
@click.argument("logs", metavar="[LOG]...", nargs=-1, shell_complete=complete_with("logs"))
@click.option("--requests", "by_request", is_flag=True, help="List every request of the sessions, too.")
@json_option
@common_options
@click.pass_context
def stats(ctx: click.Context, logs: tuple[str, ...], by_request: bool, as_json: bool) -> None:
    """Show what the gateway's changes saved, and what they cost.

    For all sessions that were recorded, or those of LOG. Every token that was removed counts once; dollars are
    those of the provider's own usage, at the prices of the models.
    """
    # Imported late: it needs half the library, for which the gateway does not wait.
    from holdfast.cli.gateway_stats import show_stats  # noqa: PLC0415

    show_stats(ctx, logs, by_request=by_request, as_json=as_json)


def where_recorded(ctx: click.Context) -> str:
    """The store, and the command that lists what is in it."""
    given = f" --store {shlex.quote(str(store_place(ctx)))}" if STORE in ctx.meta else ""
    return f"recorded in {store_place(ctx)}: `holdfast logs{given}` lists it"


def close_recorder(recorder: LateRecorder) -> None:
    """Wait until all that passed is recorded; where that takes long, say how much is left."""
    closing = threading.Thread(target=recorder.close, name="holdfast closing")
    closing.start()
    closing.join(QUIET_SECONDS)
    while closing.is_alive():
        note(f"recording what passed: {counted(max(recorder.waiting, 1), 'request')} left")
        closing.join(QUIET_SECONDS)


def warn_of_missed(recorder: LateRecorder) -> None:
    if recorder.missed:
        warn(f"{counted(recorder.missed, 'request')} could not be recorded; all were passed on")


def exchange_spans(ctx: click.Context) -> tuple[ExchangeObserver, ...]:
    """What exports exchanges as spans, where the environment asks for it; the last ones when the command ends."""
    provider = requested_provider(os.environ)
    if provider is None:
        return ()
    # Imported late: an extra that few have installed.
    from holdfast.gateway.spans import ExchangeSpans  # noqa: PLC0415

    ctx.call_on_close(provider.shutdown)
    return (ExchangeSpans(provider.get_tracer("holdfast")),)


def chosen_upstreams(anthropic: str, openai: str, gemini: str) -> dict[Wire, str]:
    given: dict[Wire, str] = {"anthropic": anthropic, "openai": openai, "gemini": gemini}
    return {wire: check_upstream(wire, given[wire] or DEFAULT_UPSTREAMS[wire]) for wire in WIRES}


def _check_no_circle(upstreams: dict[Wire, str], host: str, port: int) -> None:
    """Raise InputError where requests would come back to this gateway, and so never end."""
    for wire, upstream in upstreams.items():
        asked = urlsplit(upstream)
        if asked.port == port and asked.hostname in (*LOOPBACK, host):
            raise InputError(
                f"requests of `{wire}` would come back to this gateway: {upstream}",
                hint=f"name the provider's own address with `--{wire}`, or choose another `--port`",
            )


def _check_token(token: str) -> None:
    if token and not re.fullmatch(r"[\w.~-]+", token, re.ASCII):
        raise InputError(
            "the token has characters that the path of an address cannot have as they are",
            hint="use letters, digits, `-`, `.`, `_` and `~` alone",
        )


def check_extra() -> None:
    if any(find_spec(name) is None for name in EXTRA):
        raise InputError(
            "the gateway needs a server, which is not installed",
            hint="run `pip install '.[gateway]'` in a checkout of Holdfast",
        )


def gateway_address(host: str, port: int, token: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}" + (f"/{token}" if token else "")


def _say_waiting(requests: int) -> None:
    note(f"waiting a few seconds for {counted(requests, 'request')} under way; Ctrl-C again ends them")


def _say_where(
    ctx: click.Context, address: str, upstreams: dict[Wire, str], settings: GatewaySettings, texts: Path
) -> None:
    goes = "; ".join(f"{wire} to {upstream}" for wire, upstream in upstreams.items())
    note(f"listening on {address} (OpenAI's clients: {address}/v1); Ctrl-C ends it")
    note(f"passing on {goes}")
    if settings.mode != "watch":
        control = f", but for {settings.control:.0%} of the sessions" if settings.control else ""
        note(f"mode {settings.mode}{control}; texts that are left out are in {texts}")
    note(f"what passes is {where_recorded(ctx)}")
