"""The cases from the field (CASES.md), one test or more each, over real sockets."""
