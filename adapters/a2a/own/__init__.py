"""The agent `self`: its card, its server, its executor, its tasks (A9)."""
