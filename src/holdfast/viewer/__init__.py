"""What an agent had in front of it, request by request: the values, and the local page that shows them."""
