"""Providers: one adapter per API, the catalogue of windows and prices, and a scripted model."""
