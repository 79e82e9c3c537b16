"""Evidence: what an action used of the text before it, and whether a pack still holds that.

Rule: no policy has a say in what is needed, and the numbers of the definition stand in `measure` alone.

In the order of reading: `names` and `reading` (a message), `history` (all before a request), `needs`, `credit`,
`judging` (the sums), `study` (a whole recording). `probes` are counted apart.
"""
