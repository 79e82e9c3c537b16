"""`holdfast view`: a local page that shows what an agent had in front of it at any moment.

Rule: it reads, and changes nothing: a store is opened for reading only, and of files only those that were named, or
that are in a folder that was named. Only with a port of its own it keeps a token, beside the store.
"""

import os
import re
import secrets
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from holdfast.cli.gateway import gateway_address
from holdfast.cli.inputs import RecordingInput, load_profile
from holdfast.cli.options import common_options, complete_with, format_option
from holdfast.cli.store_place import store_place
from holdfast.cli.streams import check_writable, note, replace_file, show_activity, write
from holdfast.config import load_config
from holdfast.errors import InputError, NotFound
from holdfast.gateway.access import AccessRules
from holdfast.gateway.settings import REPLACEMENTS
from holdfast.lab.kept_evidence import older_evidence
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.numbers import counted
from holdfast.packing.profile import Profile
from holdfast.recordings.folders import AGENT_FOLDERS
from holdfast.store import Store, open_read_only
from holdfast.store_places import Place, files_beside
from holdfast.viewer.application import Admission, Admit, ViewerApplication
from holdfast.viewer.export import ExportChoice, export_view
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.recorded_sessions import RecordedSessions
from holdfast.viewer.store_place import StorePlace
from holdfast.viewer.what_if import WhatIfRuns

HOST = "127.0.0.1"
STDOUT = "-"
EXTRA = ("uvicorn", "httptools", "uvloop")
TOKEN = re.compile(r"[\w-]{32}", re.ASCII)
REFUSALS = {
    401: "the address lacks its token: use the one that `holdfast view` printed",
    403: "only the page of this viewer may ask it",
}

EXAMPLES = """\b
Examples:
  holdfast view
  holdfast view l0123456789ab
  holdfast view recording.jsonl other-agent.jsonl.gz
  holdfast view ~/.codex/sessions
  holdfast view claude
  holdfast view recording.jsonl --export view.html
  holdfast view --no-open --port 8428"""


@click.command(epilog=EXAMPLES)
@click.argument(
    "names",
    metavar="[LOG | RECORDING | FOLDER | AGENT]...",
    nargs=-1,
    shell_complete=complete_with("recordings"),
)
@format_option("Read the files in this format (default: detect it).")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Listen on this port (default: any free one)."
)
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@click.option("--request", type=click.IntRange(min=1), help="Show this request (default: the last).")
@click.option(
    "--export",
    metavar="FILE",
    help="Write the view as one HTML file, and serve nothing; `-` is stdout.",
)
@click.option(
    "--child", "is_child", is_flag=True, help="Print only the address, to stdout, and end when stdin does."
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    format: str | None,  # noqa: A002
    port: int,
    no_open: bool,
    request: int | None,
    export: str | None,
    is_child: bool,
) -> None:
    """Show, in a browser, what an agent had in front of it at any moment.

    Of every request: its layers, what was cached, what it cost, and every block as the model saw it beside the
    original. Without a name, all logs of the store; with files or folders, only the recordings in them, and no
    store is opened. AGENT is the folder in which claude, codex, copilot, gemini, opencode or pi keeps its sessions.
    The page is served to this machine alone, at an address with a token. With --port the address stays the same, so
    that an open page finds a viewer that was started again.
    """
    if export is None:
        _check_extra()
    else:
        _check_export(export)
    config = load_config(cwd=Path.cwd(), env=os.environ)
    sources, recorded, opened = _sources(ctx, names, format)
    catalogue = load_catalogue(config)
    library = SessionLibrary(sources, model_lookup(catalogue), _profile, recorded, hidden=[REPLACEMENTS])
    if export is not None:
        _write_export(library, opened, request or 0, export)
        return
    token = _kept_token(store_place(ctx)) if port else secrets.token_urlsafe(24)
    what_if, models = WhatIfRuns(library, older_evidence), [*catalogue.models.values()]
    application = ViewerApplication(library, admission(AccessRules(token)), what_if, models)
    page = f"#/{opened[0]}" + (f"/{request}" if request else "") if len(opened) == 1 else ""

    def say_where(server: str) -> None:
        address = f"{server}/{token}/{page}"
        _tell(address, _shown(library), is_child=is_child)
        if not no_open:
            # In a thread: a browser may take its time, and asks for the page meanwhile.
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()

    _serve(application, port, say_where, is_child=is_child)


def _tell(address: str, shown: str, *, is_child: bool) -> None:
    if not is_child:
        note(f"showing {shown} at {address} (Ctrl-C ends it)")
        return
    write(f"{address}\n")
    # What a browser prints must not fill a pipe that nobody reads.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _shown(library: SessionLibrary) -> str:
    refused = counted(len(library.recorded.refused()), "other file")
    left_out = f" ({refused} could not be shown)" if library.recorded.refused() else ""
    return f"{counted(len(library.rows()), 'session')}{left_out}"


def _serve(
    application: ViewerApplication, port: int, say_where: Callable[[str], None], *, is_child: bool
) -> None:
    """Serve until it is ended; `say_where` gets the address of the server once it has started."""
    # Imported late: it loads the server.
    from holdfast.gateway.serving import Server, open_socket  # noqa: PLC0415

    listening = open_socket(HOST, port)
    address = gateway_address(HOST, listening.getsockname()[1], "")
    server = Server(application, lambda: say_where(address), application.end_streams)
    if is_child:
        # What the program that started it does comes first.
        os.nice(5)
        threading.Thread(target=_wait_for_parent, args=[server.stop], daemon=True).start()
    try:
        server.serve_on(listening)
    finally:
        listening.close()


def _wait_for_parent(stop: Callable[[], None]) -> None:
    """Stop when stdin is closed, which it is however the program at its other end has ended."""
    while os.read(0, 1024):
        pass
    stop()


def _kept_token(place: Place) -> str:
    """The token of the viewer of this store, in a file beside it that nobody else can read."""
    store = files_beside(place)
    file = store.with_name(f"{store.stem}-view-token")
    with suppress(OSError, UnicodeError):
        token = file.read_text("ascii").strip()
        if TOKEN.fullmatch(token) and not file.stat().st_mode & 0o077:
            return token
    token = secrets.token_urlsafe(24)
    with suppress(OSError):  # Said when the file is written.
        file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, [f"{token}\n".encode()], mode=0o600)
    return token


def _check_extra() -> None:
    if any(find_spec(name) is None for name in EXTRA):
        raise InputError(
            "the viewer needs a server, which is not installed",
            hint="run `pip install '.[view]'` in a checkout of Holdfast",
        )


def _check_export(export: str) -> None:
    """Refuse a place that cannot be written, or is taken, before anything is read."""
    if export == STDOUT:
        return
    path = Path(export)
    check_writable(path)
    if path.exists():
        raise InputError(f"`{export}` exists already", hint="choose another name, or delete it first")


def _write_export(library: SessionLibrary, opened: Sequence[str], request: int, export: str) -> None:
    if len(opened) == 1 and library.row(opened[0]).is_several:
        opened = [row.id for row in library.recorded.inside(opened[0])]
    if len(opened) != 1:
        raise InputError(
            f"an export has one session, and {counted(len(opened), 'session')} were named",
            hint="name one log or one recording; on the page, every session has a button for it",
        )
    view = export_view(library, opened[0], ExportChoice(request))
    if export == STDOUT:
        write(view.page)
    else:
        replace_file(Path(export), [view.page.encode()], mode=0o600)
    note(f"{'the export' if export == STDOUT else f'`{export}`'}: {view.about}")


def admission(access: AccessRules) -> Admit:
    """The gateway's rules of access, in words for a reader of the page."""

    def admit(headers: Mapping[str, str], path: bytes) -> Admission:
        granted = access.check(headers, path)
        if granted.refusal:
            return Admission("", granted.status, REFUSALS.get(granted.status, granted.refusal))
        return Admission(granted.path.decode("latin-1"))

    return admit


def _profile(name: str, budget: str) -> Profile:
    return load_profile(name, budget or None)


def _sources(
    ctx: click.Context, names: Sequence[str], format_: str | None
) -> tuple[list[StorePlace], RecordedSessions, list[str]]:
    """Where the sessions are, and the ids of those that were named."""
    sources = [RecordingInput(name) for name in names]
    places = [source.file or _agent_folder(source.recording) for source in sources]
    recorded = RecordedSessions([place for place in places if place], format_)
    with show_activity("looking for sessions", shown=any(places)):
        opened = [row.id for row in recorded.rows()]
    _check_named(recorded, [place for place in places if place])
    logs = [source.recording for source, place in zip(sources, places, strict=True) if place is None]
    if not logs and any(places):
        return [], recorded, opened
    place = _watched_store(ctx)
    opened += [_log_id(place.store(), name) for name in logs]
    if place.store() is None:
        note(f"there is no store at `{place.place}` yet: its sessions appear as soon as an agent makes one")
    return [place], recorded, opened


def _log_id(store: Store | None, name: str) -> str:
    with suppress(NotFound):
        if store is not None:
            return Log.open(store, name).id
    raise InputError(
        f"`{name}` is neither a file, a folder nor the id of a log",
        hint="check the path; `holdfast logs` lists the logs in the store",
    )


def _agent_folder(name: str) -> Path | None:
    if name not in AGENT_FOLDERS:
        return None
    place = Path(AGENT_FOLDERS[name]).expanduser()
    if not place.is_dir():
        raise InputError(
            f"there are no sessions of {name}: the folder `{AGENT_FOLDERS[name]}` does not exist",
            hint="name the folder in which they are",
        )
    return place


def _check_named(recorded: RecordedSessions, places: Sequence[Path]) -> None:
    """A file that was named and is no recording is a mistake; in a folder it is only left out."""
    for place in places:
        if not place.is_dir():
            recorded.check(place)


def _watched_store(ctx: click.Context) -> StorePlace:
    named = store_place(ctx)
    with suppress(NotFound):
        # One that cannot be read is said at once.
        open_read_only(named).close()
    place = StorePlace(named)
    ctx.call_on_close(place.close)
    return place
