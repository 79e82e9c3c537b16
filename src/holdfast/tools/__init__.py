"""What a tool is, the workspace guard, the toolbox, and tools that stand alone.

Rule: every call gets a result.
"""
