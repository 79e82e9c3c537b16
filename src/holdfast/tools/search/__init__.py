"""Glob, Grep and LS, on ripgrep."""
