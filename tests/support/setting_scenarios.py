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
from holdfast.session import Session

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


RESULTS = [
    ("LS", {"path": "src"}, lines("ls", 60)),
    ("Glob", {"pattern": "**/*.py"}, lines("glob", 60)),
    ("Grep", {"pattern": "value"}, lines("grep", 60)),
    ("Read", {"path": "src/a.py"}, lines("read", 60)),
    ("Edit", {"path": "src/a.py", "old_string": "a" * 20, "new_string": lines("new", 40)}, lines("edit", 60)),
    ("Write", {"path": "src/b.py", "content": lines("content", 40)}, lines("write", 60)),
    ("Bash", {"command": "make"}, lines("out", 60)),
    ("Lookup", {"query": "value"}, lines("other", 60)),
]


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
    session.record(RecapSet("findings", "\n".join(f"finding {n}" for n in range(60))))
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
        for number in range(10):
            add_steps(session, number, results=RESULTS[number % 8 :][:2])
            out.append(show(session))
    return out


def small_rounds(profile):
    """Many short rounds, so that messages and users' texts are what fills the window."""
    out = []
    with begin(profile) as session:
        for number in range(45):
            session.record(
                UserSaid((Text(f"Tell me about part {number}.\n" + "It is a part like others. " * 24),))
            )
            session.record(AssistantReplied((Text(f"Part {number} is fine."),)))
            out += [show(session)] if number % 5 == 0 else []
        out.append(show(session))
    return out


def large_system(profile):
    """A system prompt that leaves little: recent results have to shrink."""
    out = []
    with begin(profile, system="You help. " + lines("system", profile.window // 45)) as session:
        session.record(UserSaid((Text("Do it."),)))
        for number, one in enumerate(RESULTS):
            add_steps(session, number, results=[one], thinks=False)
            out.append(show(session))
    return out


def many_results_at_once(profile):
    """One step with more than the window holds."""
    with begin(profile) as session:
        session.record(UserSaid((Text("Do it at once."),)))
        calls = [ToolCall(f"c{n}", name, given) for n, (name, given, _) in enumerate(RESULTS)]
        session.record(AssistantReplied(tuple(calls)))
        for call, (name, _, text) in zip(calls, RESULTS, strict=True):
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


def summaries(profile, reply=None, **known):
    """Summaries by a model that says what it was asked, so that another request is another summary."""
    out = []

    def written(request):
        said = hashlib.sha256(repr((request.messages, request.max_tokens)).encode()).hexdigest()
        return NetworkFailed("lost") if reply == "fails" else f"asked part {int(said[:6], 16) % 14}"

    with begin(profile) as session:
        for number in range(14):
            session.record(UserSaid((Text(f"Do part {number}."),)))
            add_steps(session, number, results=RESULTS[number % 8 :][:2])
            session.record(AssistantReplied((Text(f"Part {number} is done."),)))
            model = ScriptedModel(written, repeat_last=True)
            if number % 3 == 2:
                done = asyncio.run(compact(session, None if reply == "rule" else model))
                out.append(f"{done and done.asks} {done and done.notes} {len(model.requests)}")
                out.append(
                    f"{[r.max_tokens for r in model.requests]} {[str(r.messages) for r in model.requests]}"
                )
            out.append(show(session))
    return out


def failing_summaries(profile):
    return summaries(profile, "fails")


def rule_summaries(profile):
    return summaries(profile, "rule")


SCENARIOS = (
    many_rounds,
    long_round,
    small_rounds,
    large_system,
    many_results_at_once,
    large_texts,
    rule_summaries,
    summaries,
    failing_summaries,
)


def at_the_trigger(profile):
    """The window exactly at the trigger."""

    def filled(settings):
        session = begin(settings)
        for number in range(3):
            session.record(UserSaid((Text(f"Do part {number}."),)))
            add_steps(session, number, results=RESULTS[:1])
        return session

    with filled(profile) as session:
        size = session.window.view().corrected + profile.counted_reply
    marks = {"trigger_ratio": 0.0, "fold_to_ratio": 0.0, "fold_to_tokens": size // 3}
    with filled(replace(profile, trigger_tokens=size, keep=1, keep_floor=1, **marks)) as session:
        return [show(session)]
