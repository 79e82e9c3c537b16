"""MCP servers and their tools."""
