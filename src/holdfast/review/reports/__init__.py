"""Reports of a review: Markdown for people, JSON for programs, SARIF for code scanning."""

from holdfast.review.reports.markdown import to_markdown
from holdfast.review.reports.report import ReviewReport, SkippedUnit, to_json
from holdfast.review.reports.sarif import to_sarif

__all__ = ["ReviewReport", "SkippedUnit", "to_json", "to_markdown", "to_sarif"]
