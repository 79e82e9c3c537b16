"""One module per library, run by that library's interpreter: standard library and the peer only, never holdfast."""
