"""The command line: one module per command, thin over the library.

Rule: data goes to stdout and everything else to stderr; nothing is imported before it is needed.
"""

import sys


def main() -> None:
    try:
        # Imported here, so that Ctrl-C during the import also ends the program in one line.
        from holdfast.cli.app import run  # noqa: PLC0415

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = 130  # `exits.INTERRUPTED`, which may not be loaded yet
    sys.exit(code)
