"""Holdfast under other people's frameworks: one module for each.

Rule: a module here imports its framework, and nothing else in Holdfast imports such a module. What all of them
share is in `conversation`, which knows none and serves the gateway too.
"""
