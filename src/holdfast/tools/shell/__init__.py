"""Bash, background jobs, and the sandbox."""
