"""Checks of a project, its linters and type checkers: after an edit what they newly found, and in a review."""
