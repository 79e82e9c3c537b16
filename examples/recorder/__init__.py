"""A scripted agent at work on `examples/sample_project`: its words are written, its tool results are real."""
