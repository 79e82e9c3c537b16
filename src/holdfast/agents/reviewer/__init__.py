"""The reviewer with a model: its session and its runs."""
