"""Work in which every setting of a profile shows: each scenario gives all that would be sent while it goes on."""

import asyncio
import hashlib

from msgspec.structs import replace

from holdfast.compaction.compact import compact
from holdfast.errors import ContextOverflow
from holdfast.events import (
    AssistantReplied,
    ContextSet,
    RecapSet,
    RulesSet,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.messages import Text, Thinking, ToolCall
from holdfast.models.errors import NetworkFailed
from holdfast.models.scripted import ScriptedModel
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.window import Window
from holdfast.session import Session
from holdfast.tokenizers import counter_for_model
from support.logs import chained

WINDOW = 8_000
SECRET = "token = 'ghp_" + "k3J9" * 9 + "'"


def show(session):
    """What would be sent now."""
    try:
        packed = session.pack()
    except ContextOverflow as error:
        return f"overflow: {error.parts}"
    return f"{packed.messages} {packed.tools}"


def lines(name, count):
    return "\n".join(
        f"src/{name}{n}.py:{n + 1}: value_{name}_{n} = compute_{name}({n}) of its own" for n in range(count)
    )


def results(count):
    """What each tool answers, in so many lines."""
    return [
        ("LS", {"path": "src"}, lines("ls", count)),
        ("Glob", {"pattern": "**/*.py"}, lines("glob", count)),
        ("Grep", {"pattern": "value"}, lines("grep", count)),
        ("Read", {"path": "src/a.py"}, lines("read", count)),
        (
            "Edit",
            {"path": "src/a.py", "old_string": "a", "new_string": lines("new", 20)},
            lines("edit", count),
        ),
        ("Write", {"path": "src/b.py", "content": lines("content", 20)}, lines("write", count)),
        ("Bash", {"command": "make"}, "\n".join(f"ok {n}" for n in range(5 * count))),
        ("Lookup", {"query": "value"}, lines("other", count)),
    ]


RESULTS = results(60)
SHORT_RESULTS = results(16)
TINY_RESULTS = results(4)


def said(text):
    return UserSaid((Text(text),))


def answered(text):
    return AssistantReplied((Text(text),))


def steps(round_, results=RESULTS, *, thinks=True):
    """A step for each result."""
    for number, (name, arguments, text) in enumerate(results):
        id_ = f"c{round_}x{number}"
        thought = (Thinking(f"I think about part {round_} and {name}."),) if thinks else ()
        yield AssistantReplied((*thought, Text(f"I use {name}."), ToolCall(id_, name, arguments)))
        yield ToolReturned(id_, name, (Text(f"part {round_}\n{text}"),))


def begin(profile, *, system="You help."):
    session = Session(profile=profile)
    session.record(SystemSet(system))
    session.record(RulesSet("AGENTS.md", "Keep it short."), ContextSet("diff", "+ a line"))
    session.record(RecapSet("findings", "Findings", tuple(f"finding {n}" for n in range(60))))
    return session


LOOK = None
"""In the work of a scenario: look at what would be sent now."""


def play(profile, work, **begun):
    """Record the events of some work; what would be sent wherever it says `LOOK`."""
    shown = []
    with begin(profile, **begun) as session:
        for event in work:
            if event is LOOK:
                shown.append(show(session))
            else:
                session.record(event)
    return shown


def many_rounds(profile):
    """Rounds with every tool, and a secret."""

    def work():
        for number in range(14):
            yield said(f"Do part {number}. {SECRET}")
            yield from steps(number, RESULTS[number % 8 :][:3])
            yield answered(f"Part {number} is done. All is well with it.")
            yield LOOK

    return play(profile, work())


def long_round(profile):
    """One round of many steps."""

    def work():
        yield said("Do everything.")
        for number in range(24):
            yield from steps(number, [SHORT_RESULTS[number % 8]])
            yield LOOK

    return play(profile, work())


def steady_rounds(profile):
    """Rounds of one step, so that the window fills slowly."""

    def work():
        for number in range(36):
            yield from (said(f"Do part {number}."), LOOK)
            yield from steps(number, [SHORT_RESULTS[number % 8]])
            yield from (answered(f"Part {number} is done."), LOOK)

    return play(profile, work())


def heavy_start(profile):
    """A few large results, and then rounds that add little to them."""

    def work():
        for number in range(40):
            yield said(f"Do part {number}.")
            yield from steps(number, [RESULTS[2] if number < 3 else TINY_RESULTS[number % 8]], thinks=False)
            yield from (answered(f"Part {number} is done."), LOOK)

    return play(profile, work())


def clipped_results(profile):
    """Many results at once in a window in which each may be long."""
    return many_results_at_once(profile.scaled_to(40_000), results(105) * 4)


def after_a_pause(profile):
    """Work that stands still until no cache is warm, just below the trigger."""
    events = []
    for number in range(30):
        call = ToolCall(f"c{number}", *SHORT_RESULTS[2][:2])
        shown = Text(lines(f"{number}x", 8))
        events += [said("Go on."), AssistantReplied((call,)), ToolReturned(call.id, call.name, (shown,))]
    window, out = Window(profile, counter_for_model("")), []
    for number, entry in enumerate(chained(events)):
        window.add(replace(entry, at=1_000.0 * number))
        fold_if_due(window)
        out.append(str(window.view().blocks[:]))
    return out


def rounds_and_a_long_one(profile):
    """Some rounds, and after them a long one, so that neither part alone is too large."""

    def work():
        for number in range(18):
            if number < 11:
                yield said(f"Do part {number}.")
            yield from steps(number, results(9 if number < 10 else 16)[2:3])
            yield LOOK

    return play(profile, work())


def pasting_users(profile):
    """Users whose messages are as large as they may be."""

    def work():
        for number in range(7):
            yield from (said(f"Do part {number}.\n" + lines(f"paste{number}x", 80)), LOOK)
            yield answered(f"Part {number} is done.")

    return play(profile, work())


def wordy_rounds(count):
    for number in range(count):
        yield said(f"Do part {number}.\n" + lines(f"user{number}x", 45))
        yield from (answered(f"Part {number} is done."), LOOK)


def wordy_users(profile):
    """Users who say much."""
    return play(profile, wordy_rounds(14))


def small_rounds(profile):
    """Many short rounds, so that messages and users' texts are what fills the window."""

    def work():
        for number in range(100):
            yield said(f"Tell me about part {number}.\n" + "It is a part like others. " * 10)
            yield answered(f"Part {number} is fine.")
            if number % 5 == 0 or number == 99:
                yield LOOK

    return play(profile, work())


def large_system(profile):
    """A system prompt that leaves little: recent results have to shrink."""

    def work():
        yield said("Do it.")
        for number, one in enumerate((*SHORT_RESULTS, *SHORT_RESULTS)):
            yield from steps(number, [one], thinks=False)
            yield LOOK

    return play(profile, work(), system="You help. " + lines("system", profile.window // 34))


def nearly_only_a_system(profile):
    """A system prompt that leaves room for a step or two, which think."""

    def work():
        yield said("Do it.")
        for number, one in enumerate(RESULTS):
            yield from steps(number, [one])
            yield LOOK

    return play(profile, work(), system="You help. " + lines("system", profile.window // 25))


def many_results_at_once(profile, all_results=(*RESULTS, *RESULTS)):
    """One step with more than the window holds, after users who said much."""

    def work():
        yield from (event for event in wordy_rounds(3) if event is not LOOK)
        yield said("Do it at once.")
        calls = [ToolCall(f"c{n}", name, given) for n, (name, given, _) in enumerate(all_results)]
        yield AssistantReplied(tuple(calls))
        for call, (name, _, text) in zip(calls, all_results, strict=True):
            yield ToolReturned(call.id, name, (Text(text),))
        yield LOOK

    return play(profile, work())


def large_texts(profile):
    """A paste and a result that are large by themselves."""

    def work():
        yield said("Read this.\n" + lines("paste", profile.window // 40))
        yield from steps(0, [("Read", {"path": "src/large.py"}, lines("large", profile.window // 40))])
        yield from (LOOK, said("And go on."), LOOK)

    return play(profile, work())


class SlowModel(ScriptedModel):
    """Takes a moment for each reply."""

    async def stream(self, request):
        await asyncio.sleep(0.02)
        async for event in super().stream(request):
            yield event


def summaries(profile, reply=None):
    """Summaries by a model that says what it was asked, so that another request is another summary."""
    out = []

    def written(request):
        asked = hashlib.sha256(repr((request.messages, request.max_tokens)).encode()).hexdigest()
        return NetworkFailed("lost") if reply == "fails" else f"asked part {int(asked[:6], 16) % 14}"

    with begin(profile) as session:
        for number in range(14):
            session.record(
                said(f"Do part {number}. Mind the rest. Never touch src/old/. Take care."),
                *steps(number, SHORT_RESULTS[number % 8 :][:2]),
                answered(f"Part {number} is done."),
            )
            model = (SlowModel if reply == "slow" else ScriptedModel)(written, repeat_last=True)
            if number % 4 == 3:
                done = asyncio.run(compact(session, None if reply == "rule" else model))
                out.append(f"{done and done.asks} {done and done.notes} {len(model.requests)}")
                out.append(
                    f"{[r.max_tokens for r in model.requests]} {[str(r.messages) for r in model.requests]}"
                )
            out.append(show(session))
    return out


def failing_summaries(profile):
    return summaries(profile, "fails")


def slow_summaries(profile):
    return summaries(profile, "slow")


def rule_summaries(profile):
    return summaries(profile, "rule")


def marked_for_anthropic(profile):
    """A short conversation, as it is written for Anthropic."""
    session = Session(profile=profile, system="You help.", to="anthropic")
    session.append({"role": "user", "content": "Go."}, {"role": "assistant", "content": "Gone."})
    return f"{session.pack().system} {show(session)}"


SCENARIOS = (
    steady_rounds,
    many_results_at_once,
    long_round,
    large_system,
    heavy_start,
    rounds_and_a_long_one,
    wordy_users,
    pasting_users,
    small_rounds,
    large_texts,
    after_a_pause,
    nearly_only_a_system,
    rule_summaries,
    summaries,
    failing_summaries,
    slow_summaries,
    many_rounds,
    marked_for_anthropic,
)


def at_the_trigger(profile):
    """The window exactly at the trigger."""

    def filled(settings):
        session = begin(settings)
        for number in range(6):
            session.record(said(f"Do part {number}."), *steps(number, SHORT_RESULTS[:2]))
        return session

    with filled(profile) as session:
        size = session.window.view().corrected + profile.counted_reply
    marks = {"trigger_ratio": 0.0, "fold_to_ratio": 0.0, "fold_to_tokens": size // 3}
    with filled(replace(profile, trigger_tokens=size, keep=1, keep_floor=1, **marks)) as session:
        return [show(session)]
