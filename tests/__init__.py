"""All tests of locum; a package so that `tests.agents` can be imported."""
