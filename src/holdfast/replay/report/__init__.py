"""The report of a replay: a page to look at, tables for documents, tables for a terminal.

Rule: a writer takes the whole `Report` and returns its own form of it; it measures nothing and reads nothing else.
"""

from holdfast.replay.report.html import write_html
from holdfast.replay.report.markdown import write_markdown
from holdfast.replay.report.terminal import Table, terminal_tables

__all__ = ["Table", "terminal_tables", "write_html", "write_markdown"]
