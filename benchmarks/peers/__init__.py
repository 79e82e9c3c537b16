"""Other libraries as policies of `holdfast replay`, each in an environment of its own."""
