"""The coding agent for editors: the Agent Client Protocol on stdin and stdout, through its official package."""
