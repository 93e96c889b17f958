"""The calls to one accepted agent through a2a-sdk's client, and what their answers are about."""
