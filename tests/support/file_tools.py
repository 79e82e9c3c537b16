"""The four file tools over one record of what was seen, in a real folder."""

import asyncio
import re

import msgspec

from holdfast.tools.files.edit import edit_tool, multi_edit_tool
from holdfast.tools.files.read import read_tool
from holdfast.tools.files.seen_files import SeenFiles
from holdfast.tools.files.undo import undo
from holdfast.tools.files.write import write_tool
from holdfast.tools.workspace import Workspace


class FileTools:
    """Calls answer with results; `log` has name and data of each that succeeded, as a log would keep them."""

    def __init__(self, root, files=None):
        self.root = root
        self.workspace = Workspace([root])
        self.files = files if files is not None else SeenFiles()
        self.tools = {
            tool.name: tool
            for make in (read_tool, edit_tool, multi_edit_tool, write_tool)
            for tool in [make(self.files)]
        }
        self.log = []

    def call(self, name, **arguments):
        result = asyncio.run(self.tools[name].run(arguments, self.workspace))
        data = msgspec.json.decode(msgspec.json.encode(result.envelope)).get("data", {})
        if not result.is_error:
            self.log.append((name, data))
        return result

    def read(self, path, **arguments):
        return self.call("Read", path=path, **arguments)

    def edit(self, path, old, new, **arguments):
        return self.call("Edit", path=path, old_string=old, new_string=new, **arguments)

    def multi_edit(self, path, *edits, **arguments):
        given = [{"old_string": old, "new_string": new} for old, new in edits]
        return self.call("MultiEdit", path=path, edits=given, **arguments)

    def write(self, path, content, **arguments):
        return self.call("Write", path=path, content=content, **arguments)

    def undo(self, count=1):
        result = undo(self.files, self.workspace, count)
        self.log.append(("Undo", msgspec.json.decode(msgspec.json.encode(result.envelope.data))))
        return result

    def restored(self, **options):
        """The same tools after a crash: what they know comes from the log."""
        files = SeenFiles(self.files.snapshots, **options)
        for name, data in self.log:
            files.restore(name, data)
        other = FileTools(self.root, files)
        other.log = list(self.log)
        return other


def code(result):
    return result.envelope.error.code if result.envelope.error else ""


HEADING = re.compile(r"\A\([^\n]*, modified \d{4}-\d\d-\d\dT[^\n]*\)\n?")


def text(result):
    """What a tool said, without the heading that Read puts above the lines."""
    return HEADING.sub("", result.envelope.text)
