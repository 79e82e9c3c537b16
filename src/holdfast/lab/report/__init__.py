"""The report of a replay: a page to look at, tables for documents, tables for a terminal.

Rule: a writer takes the whole `Report` and returns its own form of it; it measures nothing and reads nothing else.
"""

from holdfast.lab.report.html import write_html
from holdfast.lab.report.markdown import write_markdown
from holdfast.lab.report.terminal import ReportTable, terminal_tables

__all__ = ["ReportTable", "terminal_tables", "write_html", "write_markdown"]
