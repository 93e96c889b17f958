"""Credentials: which scheme wants which, and where each goes and where never (A3, A6)."""
