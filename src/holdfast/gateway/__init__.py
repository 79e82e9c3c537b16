"""The gateway: a local HTTP server between an agent and its provider, which records what passes.

Rule: whatever goes wrong here, the request is passed on as it came.
"""
