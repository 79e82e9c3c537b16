"""What can be read from the log without a model: files, commands, tests, errors and requests."""
