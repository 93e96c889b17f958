"""`locum agents --check`: an agent's card, and a harmless round held against A2A 1.0."""
