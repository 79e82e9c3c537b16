"""The file tools over a real window: what they say to be on view can be held against what a model would read."""

import msgspec

from holdfast.events import Entry
from holdfast.ids import entry_id
from holdfast.messages import SystemMessage, Text, ToolCall
from holdfast.packing.log_walk import fold_if_due
from holdfast.packing.pack import pack
from holdfast.packing.profile import CODE
from holdfast.packing.visibility import visibility_of
from holdfast.packing.window import Window
from holdfast.tools.files.seen_files import SeenFiles
from support.file_tools import FileTools, text
from support.logs import result, step, strings_in, user
from support.packing_runs import counter


class WindowedTools(FileTools):
    """Every call is a step of its own. A claim that is made of something else than the file is an error here."""

    def __init__(self, root, budget=4_000, profile=CODE):
        self.window = Window(profile.scaled_to(budget), counter())
        self.entries = []
        self.claims = 0
        super().__init__(root, SeenFiles(is_visible=self._is_visible, step=self.steps))
        self.add(user("Work on the files."))

    def steps(self):
        return len(self.window.transcript.steps)

    def _is_visible(self, path, first, last, since):
        return visibility_of(self.window.view()).is_visible(path, first, last, since=since)

    def add(self, event):
        parent, seq = (self.entries[-1].id if self.entries else None), len(self.entries) + 1
        entry = Entry(entry_id("test", seq, parent, msgspec.json.encode(event)), "test", seq, parent, event)
        self.entries.append(entry)
        self.window.add(entry)

    def call(self, name, **arguments):
        fold_if_due(self.window)
        call_id = f"call_{len(self.entries)}"
        self.add(step("Going on.", (call_id, name, arguments)))
        answer = super().call(name, **arguments)
        if answer.envelope.data.get("unchanged"):
            self.claims += 1
            self._expect_true(arguments["path"], answer.envelope.data)
        self.add(result(call_id, text(answer), name, error=answer.is_error))
        return answer

    def chat(self, words):
        """Something else that fills the window, so that it folds."""
        call_id = f"call_{len(self.entries)}"
        self.add(step("Looking.", (call_id, "Grep", {"pattern": "x"})))
        self.add(result(call_id, words, "Grep"))
        fold_if_due(self.window)

    def _expect_true(self, path, data):
        rows = (self.root / path).read_bytes().decode().split("\n")
        wanted = rows[data["first"] - 1 : data["last"]]
        assert wanted, "nothing was claimed to be on view"
        missing = [row for row in wanted if row not in self.on_view()]
        assert not missing, f"said to be on view and is not: {missing}"

    def on_view(self):
        """Every line that a model would read, without the number before it."""
        lines = set()
        for message in pack(self.window.view()).messages:
            for part in () if isinstance(message, SystemMessage) else message.parts:
                texts = [part.text] if isinstance(part, Text) else []
                texts += strings_in(part.arguments) if isinstance(part, ToolCall) else []
                lines.update(line for one in texts for line in one.split("\n"))
        return lines | {
            line.split("\t", 1)[1] for line in lines if line[:6].strip().isdigit() and "\t" in line
        }
