"""The report of a replay: a page to look at, tables for documents, tables for a terminal.

Rule: a writer takes the whole `ReplayReport` and returns its own form of it; it measures nothing itself.
"""

from holdfast.lab.report.html import write_html
from holdfast.lab.report.report_table import ReportTable
from holdfast.lab.report.text import terminal_tables, write_markdown

__all__ = ["ReportTable", "terminal_tables", "write_html", "write_markdown"]
