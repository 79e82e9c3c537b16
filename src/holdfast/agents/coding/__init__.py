"""The coding agent: its session, its tool state, sub-agents and headless runs."""
