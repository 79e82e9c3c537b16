"""What code says of itself: which function stands where, how it branches, what it brings in."""
