"""Stock, orders and invoices of a small warehouse."""

__version__ = "0.4.0"
