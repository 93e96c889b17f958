"""The cases from the field (docs/cases.md), one test or more each, over real sockets."""
