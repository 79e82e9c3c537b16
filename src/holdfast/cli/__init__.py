"""The command line: one module per command, thin over the library.

Rule: data goes to stdout and everything else to stderr; nothing is imported before it is needed.
"""

import sys

from holdfast.cli.exits import INTERRUPTED


def main() -> None:
    """What the `holdfast` script calls."""
    try:
        # Imported here, so that Ctrl-C while the program is still loading ends it in one line too.
        from holdfast.cli.app import run  # noqa: PLC0415

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    sys.exit(code)
