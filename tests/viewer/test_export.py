"""An export as text: no secret, the same bytes again, a bound that is said, and data that stays data."""

import json
import random
import re
import string

import pytest

from holdfast.errors import InputError
from holdfast.events import AssistantReplied, LogStarted, Noted, SystemSet, ToolReturned, UserSaid
from holdfast.messages import Text, ToolCall, Usage
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import BUILT_IN
from holdfast.session_settings import choose_profile
from holdfast.store import MemoryStore, SqliteStore
from holdfast.store.read_only import ReadOnlyStore
from holdfast.viewer.application import FILES
from holdfast.viewer.export import ExportChoice, export_view, page_file
from holdfast.viewer.kept_answers import KeptAnswers
from holdfast.viewer.library import SessionLibrary
from viewer.session_samples import HOSTILE, MODEL, hostile_work, keep, long_work


def library_of(*stores) -> SessionLibrary:
    def profile(name: str, budget: str):
        return choose_profile(name or BUILT_IN["code"], budget or None)

    return SessionLibrary(stores, model_lookup(load_catalogue()), profile)


LAST = ExportChoice()


def exported(events, choice=LAST, **options):
    store = MemoryStore()
    return export_view(library_of(store), keep(store, "sample", events), choice, **options)


def data_of(view):
    (found,) = re.findall(
        r'<script type="application/json" id="answers">(.*?)</script>', view.page, re.DOTALL
    )
    return json.loads(found)


def key(seed: int) -> str:
    return "ghp_" + "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=36))


def secret_work(seed: int):
    """A secret in every kind of text, also where a row or a quotation cuts it in two."""
    secret = key(seed)
    call = ToolCall(
        "c1", "Bash", {"command": f"curl -H 'Authorization: Bearer {secret}'", "password": secret}
    )
    edge = f"{'word ' * 26}{secret} after it"
    return [
        LogStarted(title=f"Use {secret}", origin="import", source="sample"),
        SystemSet(f"The token is {secret}."),
        UserSaid((Text(edge),)),
        AssistantReplied((Text(f"GITHUB_TOKEN={secret}"), call), MODEL, Usage(1000)),
        ToolReturned("c1", "Bash", (Text(f"token: {secret}\n" + "row of output\n" * 500),)),
        Noted("provider", f"401 for {secret}"),
        SystemSet(f"The token was {secret}, and is no more."),
        AssistantReplied((Text(edge),), MODEL, Usage(2000)),
    ]


@pytest.mark.parametrize("choice", [ExportChoice(), ExportChoice(shown="preview", budget="4k")])
def test_no_secret_is_in_an_export_nor_anything_made_from_one(choice):
    view = exported(secret_work(1), choice)
    secret = key(1)
    assert not any(secret[at : at + 8] in view.page for at in range(len(secret) - 8))
    assert any("<REDACTED>" in text for text in data_of(view)["texts"])
    assert exported(secret_work(2), choice) == view, "even the ids are those of the redacted texts"


def test_a_store_is_exported_as_it_is_and_not_changed(tmp_path):
    place = tmp_path / "store.db"
    with SqliteStore(place) as store:
        log = keep(store, "sample", long_work(8, 2))
    before = place.read_bytes()
    with ReadOnlyStore(place) as store:
        data = data_of(export_view(library_of(store), log, ExportChoice()))
    assert data["id"] == log
    assert place.read_bytes() == before


def test_the_same_session_gives_the_same_bytes():
    assert exported(long_work()) == exported(long_work())


def test_a_small_session_is_whole():
    view = exported(long_work(8, 2))
    answers = data_of(view)["answers"]
    assert "every window" in view.about
    assert view.about.endswith(f"It is {max(len(view.page) / 1e6, 0.1):.1f} MB.")
    (session,) = (path for path in answers if re.fullmatch(r"sessions/\w+", path))
    for number in range(1, 9):
        window = answers[f"{session}/requests/{number}"]
        assert len(window["blocks"]) == window["total"]
        assert all(
            f"{session}/requests/{number}/blocks/{block['at']}" in answers for block in window["blocks"]
        )
    assert all(f"{session}/requests/{later}/compare/{later - 1}" in answers for later in range(2, 9))


def windows_in(view):
    return sorted(
        int(found[1]) for path in data_of(view)["answers"] if (found := re.search(r"requests/(\d+)$", path))
    )


def test_a_bound_leaves_out_what_is_far_away_and_says_so():
    empty = len(exported(long_work(1, 1), most=0).page)
    view = exported(long_work(60), ExportChoice(request=30, compared=3), most=200_000)
    found = windows_in(view)
    near = [number for number in found if number != 3]
    assert 30 in near
    assert near == list(range(near[0], near[-1] + 1))
    assert near[0] > 4
    assert near[-1] < 60
    assert f"the windows of requests 3 and {near[0]} to {near[-1]}; the others are left out" in view.about
    assert any(path.endswith("requests/30/compare/3") for path in data_of(view)["answers"])
    assert len(view.page) < empty + 200_000 + 60_000, "beside the timeline, the money and what is remembered"


def test_a_window_beyond_the_bound_has_all_its_rows_and_says_which_texts_it_lacks():
    view = exported(long_work(60), most=30_000)
    answers = data_of(view)["answers"]
    window = next(value for path, value in answers.items() if path.endswith("requests/60"))
    texts = [path for path in answers if "/requests/60/blocks/" in path]
    assert len(window["blocks"]) == window["total"] == 123
    assert 0 < len(texts) < 123
    assert f"Of request 60, the texts of {123 - len(texts)} blocks are left out." in view.about
    assert "the window of request 60; the others" in view.about


@pytest.mark.parametrize("choice", [ExportChoice(request=41), ExportChoice(request=1, compared=99)])
def test_a_request_that_is_not_there_is_refused(choice):
    with pytest.raises(InputError, match="there is no request"):
        exported(long_work(), choice)


def test_a_session_without_requests_is_exported():
    view = exported([LogStarted(title="Nothing yet", origin="import", source="sample")])
    assert "the timeline of 0 requests" in view.about


def test_texts_cannot_leave_their_element():
    view = exported(hostile_work())
    assert HOSTILE not in view.page
    assert view.page.count("</script>") == 2
    assert "<!--" not in view.page
    assert {*"\u2028\u2029\0"}.isdisjoint(view.page)
    assert HOSTILE in data_of(view)["texts"]
    view.page.encode()


def test_the_file_needs_nothing_else_and_its_policy_allows_nothing_else():
    page = exported(long_work(2, 1)).page
    assert page.count("<script") == 2
    assert not re.findall(r"<(?:link|script|img|iframe)[^>]* (?:src|href)=\"(?!data:)", page)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.index("Content-Security-Policy") < page.index("<style>")
    scripts = [name for name in FILES if name.endswith(".js")]
    assert len(scripts) > 5
    for name in scripts:
        assert page_file(name) in page


def test_a_text_is_kept_once_and_nothing_beyond_the_bound():
    kept, text = KeptAnswers(4_000), "a long text " * 200
    assert kept.add({"a": {"seen": text, "original": text}, "b": [text, 1, None, "short"]})
    assert kept.value()["texts"] == [text]
    assert kept.add({"c": text})
    size = kept.size
    assert not kept.add({"d": "another text " * 200})
    assert (kept.size, "d" in kept, len(kept.value()["texts"])) == (size, False, 1)
    assert kept.add({"d": "another text " * 200}, is_bounded=False)
