"""`holdfast gateway`: a local server between agents and their providers, which records what passes."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from holdfast.cli.inputs import store_path
from holdfast.cli.options import common_options
from holdfast.cli.streams import note, warn
from holdfast.errors import InputError
from holdfast.gateway.access import LOOPBACK, AccessRules
from holdfast.gateway.wires import DEFAULT_UPSTREAMS, WIRES, Wire, check_upstream
from holdfast.numbers import counted
from holdfast.store import SqliteStore

PORT = 8427
EXTRA = ("httpx2", "uvicorn", "httptools", "uvloop")

EXAMPLES = """\b
Examples:
  holdfast gateway
  holdfast gateway --port 9000 --store traffic.db
  holdfast gateway --openai http://127.0.0.1:8080/v1

\b
Then, in another terminal:
  ANTHROPIC_BASE_URL=http://127.0.0.1:8427 claude
  OPENAI_BASE_URL=http://127.0.0.1:8427/v1 your-agent
  holdfast logs

\b
`holdfast wrap claude` does both at once."""

F = TypeVar("F", bound=Callable[..., object])


def upstream_options(function: F) -> F:
    """The options that say where requests go."""
    for wire in reversed(WIRES):
        about = f"Send {wire}'s requests to this address (default: {DEFAULT_UPSTREAMS[wire]})."
        function = click.option(f"--{wire}", f"{wire}_upstream", metavar="URL", default="", help=about)(
            function
        )
    return function


@click.command(epilog=EXAMPLES)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Listen on this port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Listen on this address.")
@click.option(
    "--token",
    envvar="HOLDFAST_GATEWAY_TOKEN",
    default="",
    help="Take only requests whose path begins with it; made where others can reach the address.",
)
@upstream_options
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    port: int,
    host: str,
    token: str,
    anthropic_upstream: str,
    openai_upstream: str,
    gemini_upstream: str,
) -> None:
    """Pass requests of agents to their providers, and record them.

    An agent is pointed at the gateway by its base URL. Every request goes on byte for byte, and so does every
    reply; what passes is kept as logs, without keys and secrets, for `holdfast logs`, `show` and the others.
    """
    upstreams = chosen_upstreams(anthropic_upstream, openai_upstream, gemini_upstream)
    check_extra()
    # Imported late: they load the server.
    from holdfast.gateway.forwarding import Gateway  # noqa: PLC0415
    from holdfast.gateway.recorder import TrafficRecorder  # noqa: PLC0415
    from holdfast.gateway.serving import open_socket, serve  # noqa: PLC0415

    token = token or ("" if host in LOOPBACK else secrets.token_urlsafe(16))
    place = store_path(ctx)
    listening = open_socket(host, port)
    recorder = TrafficRecorder(ctx.with_resource(SqliteStore(place)))
    address = gateway_address(host, listening.getsockname()[1], token)
    try:
        gateway = Gateway(upstreams, access=AccessRules(token, (host,)), listen=recorder)
        serve(gateway, listening, on_start=lambda: _say_where(address, upstreams, place))
    finally:
        recorder.close()
        listening.close()
        if recorder.missed:
            warn(f"{counted(recorder.missed, 'request')} could not be recorded; all were passed on")


def chosen_upstreams(anthropic: str, openai: str, gemini: str) -> dict[Wire, str]:
    given: dict[Wire, str] = {"anthropic": anthropic, "openai": openai, "gemini": gemini}
    return {wire: check_upstream(wire, given[wire] or DEFAULT_UPSTREAMS[wire]) for wire in WIRES}


def check_extra() -> None:
    try:
        import uvicorn  # noqa: F401, PLC0415 - late: only the gateway needs it
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in EXTRA:
            raise
        raise InputError(
            "the gateway needs a server, which is not installed",
            hint="run `pip install '.[gateway]'` in a checkout of Holdfast",
        ) from None


def gateway_address(host: str, port: int, token: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}" + (f"/{token}" if token else "")


def _say_where(address: str, upstreams: dict[Wire, str], store: Path) -> None:
    goes = "; ".join(f"{wire} to {upstream}" for wire, upstream in upstreams.items())
    note(f"listening on {address} (OpenAI's clients: {address}/v1); Ctrl-C ends it")
    note(f"passing on {goes}")
    note(f"recording in {store}; `holdfast logs` lists what was recorded")
