"""Policies: ours, the simple ones to compare with, two cheats the measure must expose, and users' own.

Rule: whatever a policy does, it does with the messages it was handed; the scorer has its own. What an author of a
policy needs is exported here.
"""

from holdfast.lab.policy import Message, ModelCall, NamedPolicy, Policy, Sent, Task

__all__ = ["Message", "ModelCall", "NamedPolicy", "Policy", "Sent", "Task"]
