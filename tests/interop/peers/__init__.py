"""The peers of the matrix; each file but this one runs in an environment of its own."""
