"""The pair at work: its orchestrator, turns, decisions and logs.

Rule: every phase is recorded before anything is done about it, so a pair can be resumed after a crash.
"""
