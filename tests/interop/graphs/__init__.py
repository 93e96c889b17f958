"""Programs for the environment with LangGraph and MCP; `tests/interop/test_graphs.py` runs them."""
