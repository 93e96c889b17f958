"""The demonstration: an agent in one process, locum in another, and a story told with both."""
