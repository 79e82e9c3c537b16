"""Tokens: counting them, families of models, and calibration by reported usage."""
