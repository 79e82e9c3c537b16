"""Checks of a project after an edit: its linter and its type checker, and what they newly found."""
