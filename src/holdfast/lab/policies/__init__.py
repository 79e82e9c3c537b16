"""Policies to compare: ours, simple ones, cheats that the measure must expose, and how each is found by name."""
