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


def add_steps(session, round_, *, results=RESULTS, thinks=True):
    for number, (name, arguments, text) in enumerate(results):
        id_ = f"c{round_}x{number}"
        thought = (Thinking(f"I think about part {round_} and {name}."),) if thinks else ()
        session.record(AssistantReplied((*thought, Text(f"I use {name}."), ToolCall(id_, name, arguments))))
        session.record(ToolReturned(id_, name, (Text(f"part {round_}\n{text}"),)))


def begin(profile, *, system="You help."):
    session = Session(profile=profile)
    session.record(SystemSet(system))
    session.record(RulesSet("AGENTS.md", "Keep it short."), ContextSet("diff", "+ a line"))
    session.record(RecapSet("findings", "Findings", tuple(f"finding {n}" for n in range(60))))
    return session


def many_rounds(profile):
    """Rounds with every tool, and a secret."""
    out = []
    with begin(profile) as session:
        for number in range(14):
            session.record(UserSaid((Text(f"Do part {number}. {SECRET}"),)))
            add_steps(session, number, results=RESULTS[number % 8 :][:3])
            session.record(AssistantReplied((Text(f"Part {number} is done. All is well with it."),)))
            out.append(show(session))
    return out


def long_round(profile):
    """One round of many steps."""
    out = []
    with begin(profile) as session:
        session.record(UserSaid((Text("Do everything."),)))
        for number in range(24):
            add_steps(session, number, results=[SHORT_RESULTS[number % 8]])
            out.append(show(session))
    return out


def steady_rounds(profile):
    """Rounds of one step, so that the window fills slowly; now and then a summary by rule."""
    out = []
    with begin(profile) as session:
        for number in range(36):
            session.record(UserSaid((Text(f"Do part {number}."),)))
            out.append(show(session))
            add_steps(session, number, results=[SHORT_RESULTS[number % 8]])
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
            out.append(show(session))
    return out


def heavy_start(profile):
    """A few large results, and then rounds that add little to them."""
    out = []
    with begin(profile) as session:
        for number in range(40):
            session.record(UserSaid((Text(f"Do part {number}."),)))
            add_steps(
                session,
                number,
                results=[RESULTS[2] if number < 3 else TINY_RESULTS[number % 8]],
                thinks=False,
            )
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
            out.append(show(session))
    return out


def clipped_results(profile):
    """Many results at once in a window in which each may be long."""
    return many_results_at_once(profile.scaled_to(40_000), (*results(105)[:6], *results(105))[:13])


def after_a_pause(profile):
    """Work that stands still until no cache is warm, just below the trigger."""
    events = []
    for number in range(30):
        call = ToolCall(f"c{number}", *SHORT_RESULTS[2][:2])
        said = Text(lines(f"{number}x", 8))
        events += [
            UserSaid((Text("Go on."),)),
            AssistantReplied((call,)),
            ToolReturned(call.id, call.name, (said,)),
        ]
    window, out = Window(profile, counter_for_model("")), []
    for number, entry in enumerate(chained(events)):
        window.add(replace(entry, at=1_000.0 * number))
        fold_if_due(window)
        out.append(str(window.view().blocks[:]))
    return out


def rounds_and_a_long_one(profile):
    """Some rounds, and after them a long one, so that neither part alone is too large."""
    out = []
    with begin(profile) as session:
        for number in range(18):
            if number < 11:
                session.record(UserSaid((Text(f"Do part {number}."),)))
            add_steps(session, number, results=results(9 if number < 10 else 16)[2:3])
            out.append(show(session))
    return out


def pasting_users(profile):
    """Users whose messages are as large as they may be."""
    out = []
    with begin(profile) as session:
        for number in range(7):
            session.record(UserSaid((Text(f"Do part {number}.\n" + lines(f"paste{number}x", 80)),)))
            out.append(show(session))
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
    return out


def wordy_users(profile):
    """Users who say much."""
    out = []
    with begin(profile) as session:
        for number in range(14):
            session.record(UserSaid((Text(f"Do part {number}.\n" + lines(f"user{number}x", 45)),)))
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
            out.append(show(session))
    return out


def small_rounds(profile):
    """Many short rounds, so that messages and users' texts are what fills the window."""
    out = []
    with begin(profile) as session:
        for number in range(100):
            session.record(
                UserSaid((Text(f"Tell me about part {number}.\n" + "It is a part like others. " * 10),))
            )
            session.record(AssistantReplied((Text(f"Part {number} is fine."),)))
            out += [show(session)] if number % 5 == 0 else []
        out.append(show(session))
    return out


def large_system(profile):
    """A system prompt that leaves little: recent results have to shrink."""
    out = []
    with begin(profile, system="You help. " + lines("system", profile.window // 34)) as session:
        session.record(UserSaid((Text("Do it."),)))
        for number, one in enumerate((*SHORT_RESULTS, *SHORT_RESULTS)):
            add_steps(session, number, results=[one], thinks=False)
            out.append(show(session))
    return out


def many_results_at_once(profile, all_results=(*RESULTS, *RESULTS)):
    """One step with more than the window holds, after users who said much."""
    with begin(profile) as session:
        for number in range(3):
            session.record(UserSaid((Text(f"Do part {number}.\n" + lines(f"user{number}x", 45)),)))
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
        session.record(UserSaid((Text("Do it at once."),)))
        calls = [ToolCall(f"c{n}", name, given) for n, (name, given, _) in enumerate(all_results)]
        session.record(AssistantReplied(tuple(calls)))
        for call, (name, _, text) in zip(calls, all_results, strict=True):
            session.record(ToolReturned(call.id, name, (Text(text),)))
        return [show(session)]


def large_texts(profile):
    """A paste and a result that are large by themselves."""
    out = []
    with begin(profile) as session:
        session.record(UserSaid((Text("Read this.\n" + lines("paste", profile.window // 40)),)))
        add_steps(
            session, 0, results=[("Read", {"path": "src/large.py"}, lines("large", profile.window // 40))]
        )
        out.append(show(session))
        session.record(UserSaid((Text("And go on."),)))
        out.append(show(session))
    return out


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
        said = hashlib.sha256(repr((request.messages, request.max_tokens)).encode()).hexdigest()
        return NetworkFailed("lost") if reply == "fails" else f"asked part {int(said[:6], 16) % 14}"

    with begin(profile) as session:
        for number in range(14):
            session.record(
                UserSaid((Text(f"Do part {number}. Mind the rest. Never touch src/old/. Take care."),))
            )
            add_steps(session, number, results=SHORT_RESULTS[number % 8 :][:2])
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
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
    rule_summaries,
    summaries,
    failing_summaries,
    slow_summaries,
    many_rounds,
)


def at_the_trigger(profile):
    """The window exactly at the trigger."""

    def filled(settings):
        session = begin(settings)
        for number in range(6):
            session.record(UserSaid((Text(f"Do part {number}."),)))
            add_steps(session, number, results=SHORT_RESULTS[:2])
        return session

    with filled(profile) as session:
        size = session.window.view().corrected + profile.counted_reply
    marks = {"trigger_ratio": 0.0, "fold_to_ratio": 0.0, "fold_to_tokens": size // 3}
    with filled(replace(profile, trigger_tokens=size, keep=1, keep_floor=1, **marks)) as session:
        return [show(session)]
