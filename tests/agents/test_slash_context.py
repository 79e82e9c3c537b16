"""What takes room and what it cost: /context, /compact and /cost on a session that fills its window."""

import pytest
from msgspec.structs import replace

from holdfast.agents.commands.context import give_advice, measure_window
from holdfast.agents.model_requests import RequestSettings
from holdfast.compaction.plan import plan_compaction
from holdfast.errors import InputError
from holdfast.events import Compacted, ToolsSet, UsageReported
from holdfast.messages import Text, ToolDefinition, Usage
from holdfast.models.catalogue import ModelEntry, Price
from holdfast.models.model import ModelReply
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.pack import pack
from support.coding_sessions import CodingSetup, call, run, say

PRICED = RequestSettings(
    entry=ModelEntry(
        name="house/large",
        window=200_000,
        price=Price(input=10.0, output=50.0, cache_read=1.0, cache_write=12.5),
    )
)


@pytest.fixture
def setup(tmp_path):
    found = CodingSetup(tmp_path)
    lines = "".join(f"{n}: value_{n} = compute({n * 7}, mode='m{n % 13}')\n" for n in range(1, 400))
    (found.root / "big.py").write_text(lines)
    (found.root / "main.py").write_text("def main():\n    return 1\n" * 30)
    yield found
    found.close()


def reader(setup, *more, window=64_000, steps=6, **options):
    """A coding that has read much in a few steps."""
    reads = [
        [call("Bash", f"b{n}", command=f"awk 'NR > {n * 40} && NR <= {n * 40 + 40}' big.py")]
        for n in range(steps)
    ]
    coding = setup.open([call("Read", "r", path="big.py")], *reads, "Read.", *more, window=window, **options)
    say(coding, "Always answer in French. Read the big file.")
    return coding


def cells(text, name):
    """The cells of the row that begins with a name."""
    rows = [line for line in text.splitlines() if line.startswith(f"| {name} ")]
    assert len(rows) == 1, f"{name} stands in {len(rows)} rows"
    return [one.strip() for one in rows[0].strip("|").split("|")][1:]


def number(text):
    return int(text.replace(",", ""))


def test_the_parts_add_up_to_what_is_sent(setup):
    (setup.root / "AGENTS.md").write_text("Be brief. " * 40)
    coding = reader(setup)
    sizes = measure_window(coding.session.window.view())
    assert sizes.total == pack(coding.session.window.view()).tokens
    text = run(coding, "/context").text
    named = {part.name: part.tokens for part in sizes.parts}
    assert "rules `AGENTS.md`" in named
    for name, tokens in named.items():
        assert number(cells(text, name)[0]) == tokens
    window, trigger = coding.session.profile.window, coding.session.profile.trigger
    assert f"{window:,}" in text
    assert f"folds begin at {trigger:,}" in text
    assert number(cells(text, "room for the reply")[0]) == coding.session.profile.reply_room


@pytest.mark.slow
def test_files_and_results_are_listed_by_size_with_their_state(setup):
    text = run(reader(setup), "/context").text
    tokens, step, state = cells(text, "`big.py`")
    assert number(tokens) > 2_000
    assert step == "1"
    assert state in ("resident", "clipped")
    assert text.count("| `Bash awk") == 6


@pytest.mark.slow
def test_more_than_a_few_are_listed_on_demand(setup):
    coding = reader(setup, steps=9)
    assert "and 1 result more: `/context all`" in run(coding, "/context").text
    text = run(coding, "/context all").text
    assert text.count("| `Bash awk") == 9
    assert "more:" not in text


@pytest.mark.slow
def test_advice_names_the_largest_its_size_and_what_to_do(setup):
    coding = reader(setup)
    window = coding.session.window
    about, would, *_ = give_advice(measure_window(window.view()), None)
    assert "big.py" in about
    row = max(measure_window(window.view()).visibility.rows, key=lambda one: one.tokens)
    assert f"{row.tokens:,}" in about
    assert f"`/recall {row.id}`" in about
    assert "it folds when" in about
    assert "`/compact` has nothing to summarize yet" in would
    assert run(coding, f"/recall {row.id}").text


@pytest.mark.slow
def test_advice_says_when_a_fold_is_near_and_when_there_is_room(setup):
    assert "Nothing needs doing: there is room." in run(setup.open(log="empty"), "/context").text
    sizes = measure_window(reader(setup).session.window.view())
    taken = sizes.used + sizes.reply_room
    assert "120 tokens are left until a fold" in give_advice(replace(sizes, trigger=taken + 120), None)[0]
    assert "The trigger is reached" in give_advice(replace(sizes, trigger=taken), None)[0]
    assert "left until" not in give_advice(replace(sizes, trigger=taken * 2), None)[0]


def test_advice_on_tools_of_servers(setup):
    schema = {"type": "object", "properties": {f"field_{n}": {"type": "string"} for n in range(400)}}
    server = ToolDefinition("mcp__house__look", "Looks around.", schema)
    coding = setup.open("Yes.", window=16_000)
    coding.session.record(ToolsSet((*coding.session.window.transcript.tools, server)))
    sizes = measure_window(coding.session.window.view())
    assert sizes.total == pack(coding.session.window.view()).tokens
    assert any(
        line.startswith("The definitions of 1 tools of MCP servers take") for line in give_advice(sizes, None)
    )


def test_advice_on_rules_that_are_too_long(setup):
    (setup.root / "AGENTS.md").write_text("Every function has a test of its own. " * 700)
    coding = setup.open("Yes.", window=32_000)
    say(coding, "Hello.")
    assert "The rules `AGENTS.md` take" in run(coding, "/context").text


@pytest.mark.slow
def test_context_can_be_asked_for_where_nothing_fits_any_more(setup):
    coding = reader(setup, steps=6)
    small = setup.open(window=coding.session.window.view().total * 2 // 3)
    text = run(small, "/context").text
    assert "The trigger is reached" in text
    assert "| rounds |" in text


def test_context_changes_nothing(setup):
    coding = reader(setup)
    before = coding.session.log.info.entries, pack(coding.session.window.view()).messages
    run(coding, "/context")
    assert (coding.session.log.info.entries, pack(coding.session.window.view()).messages) == before


def compactable(setup):
    (setup.root / "more.txt").write_text("".join(f"{n} " * 30 + "\n" for n in range(200)))
    steps = [[call("Bash", f"m{n}", command=f"sed -n '{n * 24 + 1},+23p' more.txt")] for n in range(7)]
    coding = reader(
        setup, *steps, "More read.", "Yes.", summarizer=ScriptedModel("No form.", repeat_last=True)
    )
    say(coding, "Read more.", "Is that all?")
    return coding


@pytest.mark.slow
def test_compact_shows_first_what_it_would_do(setup):
    coding = compactable(setup)
    before = coding.session.log.info.entries
    shown = run(coding, "/compact the values of mode").text
    plan = plan_compaction(coding.session.window.view(), manual=True)
    assert f"{plan.steps} steps" in shown
    assert f"{plan.shown:,}" in shown
    assert f"at most {plan.budget:,} tokens" in shown
    assert "`/compact now the values of mode`" in shown
    assert coding.session.log.info.entries == before


@pytest.mark.slow
def test_compact_now_and_its_undo(setup):
    coding = compactable(setup)
    before = pack(coding.session.window.view()).messages
    tokens = coding.session.window.view().total
    text = run(coding, "/compact now the modes").text
    assert coding.session.window.view().total < tokens
    assert f"{coding.session.window.view().total:,} tokens instead of {tokens:,}" in text
    assert "French" in text, "what the user demanded stays"
    written = [e.event for e in coding.session.log.entries() if isinstance(e.event, Compacted)]
    assert "the modes" in {event.focus for event in written}
    assert "is undone" in run(coding, "/compact undo").text
    assert pack(coding.session.window.view()).messages == before
    with pytest.raises(InputError, match="no summary to undo"):
        run(coding, "/compact undo")


@pytest.mark.slow
def test_the_summarizer_writes_and_is_paid(setup):
    coding = compactable(setup)
    run(coding, "/compact now")
    paid = [e.event for e in coding.session.log.entries() if isinstance(e.event, UsageReported)]
    assert paid
    assert coding.summarizer.requests


def reply(text, *usage):
    return ModelReply(parts=(Text(text),), stop="end", usage=Usage(*usage), model="large-20260101")


def test_cost_by_model_with_what_the_cache_saved(setup):
    coding = setup.open(
        reply("One.", 100_000, 1_000, 0, 100_000),
        reply("Two.", 101_000, 1_000, 100_000, 0),
        request_settings=PRICED,
    )
    assert "No model was asked in this session yet." in run(coding, "/cost").text
    say(coding, "One?", "Two?")
    text = run(coding, "/cost").text
    assert cells(text, "`house/large`") == ["2", "201,000", "50%", "2,000", "$1.46"]
    # 100 000 written at 12.5, 100 000 read at 1, 1 000 plain at 10, 2 000 out at 50, all a million tokens.
    assert "The cache saved $0.65: the same requests would have cost $2.11 without it" in text
    assert "The last run: 1 step, 101,000 tokens in (99% cached), 1,000 out, $0.16." in text


def test_cost_of_what_has_no_price_is_not_nothing(setup):
    coding = setup.open("One.")
    say(coding, "One?")
    text = run(coding, "/cost").text
    assert cells(text, "`scripted/model`")[-1] == "unknown"
    assert "The cost leaves out 1 request to models without a known price." in text
    assert "saved" not in text


def test_a_server_that_reports_another_name_is_billed_as_what_was_asked(setup):
    named = ModelReply(parts=(Text("One."),), stop="end", usage=Usage(100_000), model="upstream/other-7b")
    model = ScriptedModel(named, name="house/large")
    coding = setup.open(model=model, request_settings=PRICED)
    say(coding, "One?")
    assert cells(run(coding, "/cost").text, "`house/large`")[-1] == "$1.00"
    assert coding.agent.budget.spent.dollars == pytest.approx(1.0)


def test_cost_counts_what_was_left_behind_and_not_what_a_fork_brought(setup):
    coding = setup.open(reply("One.", 100_000, 0), reply("Two.", 100_000, 0), request_settings=PRICED)
    say(coding, "One?", "Two?")
    run(coding, "/rewind 1 session")
    assert cells(run(coding, "/cost").text, "`house/large`")[-1] == "$2.00"
    say(setup.open(reply("Three.", 50_000, 0), request_settings=PRICED), "Three?")
    fork = setup.open(reply("Four.", 20_000, 0), log=run(coding, "/fork").open_log, request_settings=PRICED)
    assert "No model was asked in this session yet." in run(fork, "/cost").text
    say(fork, "Four?")
    text = run(fork, "/cost").text
    assert cells(text, "`house/large`")[-1] == "$0.20"
    assert "copied from another session" in text


@pytest.mark.slow
def test_cost_names_folds(setup):
    coding = compactable(setup)
    run(coding, "/compact now")
    assert "1 fold removed" in run(coding, "/cost").text


@pytest.mark.slow
def test_advice_says_what_a_summary_would_free(setup):
    coding = compactable(setup)
    plan = plan_compaction(coding.session.window.view(), manual=True)
    would = f"{plan.steps} steps of {plan.shown:,} tokens by a summary of at most {plan.budget:,}"
    assert would in run(coding, "/context").text


def test_what_the_provider_counts_is_said_where_it_is_more(setup):
    coding = setup.open(reply("One.", 20_000, 100), reply("Two.", 21_000, 100))
    assert "what the provider reports" not in run(coding, "/context").text
    say(coding, "One?", "Two?")
    text = run(coding, "/context").text
    assert "what the provider reports" in text
    assert number(text.split("**Context**: ")[1].split(" tokens")[0]) > 20_000


def test_what_sub_agents_spent_is_counted_once(setup):
    task = ModelReply(
        parts=(call("Task", "1", description="look", prompt="Look."),),
        stop="calls",
        usage=Usage(100_000),
        model="large",
    )
    replies = (task, reply("Seen.", 30_000, 0), reply("Done.", 100_000, 0))
    coding = setup.open(*replies, request_settings=PRICED)
    say(coding, "One?")
    text = run(coding, "/cost").text
    assert cells(text, "`house/large`")[-1] == "$2.30"
    assert "1 sub-agent had $0.30 of it, with 1 request." in text
    assert "| $2.30 |" in run(setup.open(log="now", request_settings=PRICED), "/resume").text
