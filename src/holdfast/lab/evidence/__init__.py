"""Evidence: what an action used of the text before it, and whether a pack still holds that.

Rule: no policy has a say in what is needed. In the order of reading: `indexed_message`, `needs`, `credit`.
"""
