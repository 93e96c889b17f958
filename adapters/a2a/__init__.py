"""The agents: their cards and credentials, the calls to them, the wire below, and our own `self`."""
