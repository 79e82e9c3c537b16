"""Sessions to look at: one whose results a preview cuts, and one that is full of markup."""

from holdfast.events import (
    AssistantReplied,
    LogStarted,
    Recorded,
    Recording,
    SystemSet,
    ToolReturned,
    UserSaid,
)
from holdfast.log import Log
from holdfast.messages import Text, ToolCall, Usage

MODEL = "claude-opus-4-5"
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<svg onload=\"document.title='owned'\"></svg></pre><iframe src='http://127.0.0.1:9/'></iframe>"
    "<a href='javascript:document.title=1'>x</a>{{7*7}}</script><script>document.title='owned'</script>"
    "<!-- <script>\u2028document.title='owned'\u2029\u202e\u2066reversed\0 &lt;b&gt; ]]> ${document.title='owned'}"
    "\u200b\U000e0069\U000e0067\ufeff"
)
UNSEEN = "\0\u200b\u2028\u2029\u202e\u2066\ufeff\U000e0067\U000e0069"
"""Its characters without a shape, and those that turn others around."""


def long_work(steps: int = 40, rounds: int = 4):
    events = [
        LogStarted(title="Make the parser faster", origin="import", source="sample"),
        SystemSet("Be careful."),
    ]
    prompt = 500
    for number in range(steps):
        if number % (steps // rounds) == 0:
            events.append(UserSaid((Text(f"Do part {number}."),)))
        call = ToolCall(f"c{number}", "Bash", {"command": f"make part-{number}"})
        usage = Usage(prompt, 40, int(prompt * 0.9) if number % 7 else 0, prompt - int(prompt * 0.9))
        events.append(AssistantReplied((Text(f"I run part {number}."), call), MODEL, usage))
        events.append(ToolReturned(call.id, "Bash", (Text(f"row {number} of the output\n" * 120),)))
        prompt += 900
    return events


def hostile_work():
    call = ToolCall("c1", f"Bash{HOSTILE}", {"command": HOSTILE})
    return [
        LogStarted(title=HOSTILE, origin="import", source=HOSTILE),
        SystemSet(HOSTILE),
        UserSaid((Text(HOSTILE),)),
        AssistantReplied((Text(HOSTILE), call), HOSTILE, Usage(1000)),
        ToolReturned("c1", "Bash", (Text(HOSTILE),)),
        AssistantReplied((Text(HOSTILE),), HOSTILE, Usage(100)),
    ]


def keep(store, name, events) -> str:
    """The log of events as a recording, each a second after the one before."""
    recorded = tuple(Recorded(event, at=1.7e9 + number) for number, event in enumerate(events))
    return Log.import_recording(store, Recording(name, "sample", recorded), redact=str).id


def remembered_work():
    """A directive, todos, an error that is resolved, a file that is edited twice; then a lot of work."""
    edit = {"file_path": "src/parser.py", "old_string": "slow", "new_string": "fast"}
    todos = [{"content": "profile the parser", "status": "in_progress"}]
    test, later = (
        {"command": "pytest tests/test_parser.py"},
        [*todos, {"content": "say so", "status": "pending"}],
    )
    asked = (
        "Make it faster.\nNever touch api.py, which many others depend on, whatever it is\nthat fails. "
        "Let's go with option two."
    )
    failed = "Exit code 1\nFAILED tests/test_parser.py::test_speed - 3 s\n1 failed in 3.1s"
    calls = [
        ("Read", {"file_path": "src/parser.py"}, "def parse():\n    return slow  # the heron is here\n" * 40),
        ("TodoWrite", {"todos": todos}, "ok"),
        ("Edit", edit, "edited src/parser.py"),
        ("Bash", test, failed),
        ("Edit", edit, "edited src/parser.py"),
        ("Bash", test, "Exit code 0\n1 passed in 0.2s"),
        ("TodoWrite", {"todos": later}, "ok"),
        ("Bash", {"command": "make docs"}, "Exit code 2\nmake: *** [Makefile:3: docs] Error 2"),
    ]
    events = [
        LogStarted(title="Make the parser faster", origin="import", source="sample"),
        UserSaid((Text(asked),)),
    ]
    for number, (name, arguments, text) in enumerate(calls):
        call = ToolCall(f"r{number}", name, arguments)
        events += [AssistantReplied((call,), MODEL), ToolReturned(call.id, name, (Text(text),))]
    return [*events, *long_work()[2:]]
