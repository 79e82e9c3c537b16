"""Which lines of folded steps a note keeps: index, features, weights and scoring."""
