"""The coding agent in a terminal that can draw no screen: a line in, plain text out.

Rule: nothing but text is sent. Each line is a run of the same session, as `holdfast run` would do it, so that
nobody is asked: what no rule allows is denied.
"""

import sys

from msgspec.structs import replace

from holdfast.agents.coding.coding_session import OpenedSession
from holdfast.agents.commands import COMMANDS
from holdfast.agents.options import AgentOptions
from holdfast.cli.event_output import TextOutput
from holdfast.cli.run import make_request, run_agent
from holdfast.cli.streams import note

HELP = (
    "this terminal draws no screen: type a line and press Enter; Ctrl+D or `/exit` leaves, and nobody is asked "
    "for approval"
)
LEAVE = ("/exit", "/quit")
SCREEN_COMMANDS = {"/clear", *(f"/{name}" for name in COMMANDS)}


class PlainOutput(TextOutput):
    log = ""

    def began(self, opened: OpenedSession) -> None:
        self.log = opened.coding.session.log.id
        super().began(opened)


def run_plain(options: AgentOptions) -> int:
    """Take lines until there are no more; the exit code of the last run."""
    note(HELP)
    code = 0
    while True:
        sys.stderr.write("> ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
            return code
        name = line.strip().partition(" ")[0]
        if name in LEAVE:
            return code
        if name in SCREEN_COMMANDS:
            note(f"`{name}` needs a screen; here you can type messages and your own commands")
        elif name:
            output = PlainOutput()
            code = run_agent(options, make_request(options, line.strip(), ""), output)
            options = replace(options, log=output.log or options.log, resumes_newest=False)
