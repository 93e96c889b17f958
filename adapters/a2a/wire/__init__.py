"""The tolerant wire below a2a-sdk's client: framing, repairs, limits, and what it notes (K)."""
