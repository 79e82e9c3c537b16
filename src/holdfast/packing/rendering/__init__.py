"""Texts at their level: clip, digest, first sight, marks, and the blocks of messages."""
