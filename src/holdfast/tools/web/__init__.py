"""Tools that reach the web: one page by its address, and a search at the model's provider."""
