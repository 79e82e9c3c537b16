"""The formats of four providers, strict in what they take: one module each, with the same methods.

Rule: a request is judged as it was sent and never repaired; a reply is what that provider would send.
"""
