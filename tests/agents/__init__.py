"""Scriptable A2A peers for tests: a lawful one, and one that says any bytes. No product code."""
