"""A viewer on loopback, and a browser to look at it."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast.cli.gateway import gateway_address
from holdfast.cli.view import admission
from holdfast.gateway.access import AccessRules
from holdfast.gateway.serving import in_thread, open_socket
from holdfast.lab.kept_evidence import older_evidence
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import BUILT_IN
from holdfast.session_settings import choose_profile
from holdfast.viewer.application import ViewerApplication
from holdfast.viewer.library import SessionLibrary
from holdfast.viewer.what_if import WhatIfRuns

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def viewer(*stores, recorded=None) -> Iterator[str]:
    """The address of a viewer of these stores, and of recordings in files and folders."""

    def profile(name: str, budget: str):
        return choose_profile(name or BUILT_IN["code"], budget or None)

    catalogue = load_catalogue()
    library = SessionLibrary(stores, model_lookup(catalogue), profile, recorded)
    token = secrets.token_urlsafe(8)
    listening = open_socket("127.0.0.1", 0)
    runs = WhatIfRuns(library, older_evidence)
    application = ViewerApplication(
        library, admission(AccessRules(token)), runs, [*catalogue.models.values()]
    )
    with in_thread(application, listening, application.end_streams):
        yield gateway_address("127.0.0.1", listening.getsockname()[1], token) + "/"
    listening.close()


# Not for the whole session: while Playwright runs, no other test in its process can run an event loop.
@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the path")
    # A loaded machine may need longer than the five seconds that are the default.
    playwright.expect.set_options(timeout=30_000)
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()
