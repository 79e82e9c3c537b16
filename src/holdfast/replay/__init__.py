"""Replay: what evidence a context policy keeps in front of the agent, and what its requests cost.

Rule: a policy sees what had happened by then and nothing else, and the scorer counts for itself.
"""
