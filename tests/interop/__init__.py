"""Other implementations of A2A, and locum against them; run by `make interop`."""
