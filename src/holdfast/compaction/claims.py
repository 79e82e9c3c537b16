"""What a summary claims, in the words of its lines: names, demands, secrets, and what must be among them."""
