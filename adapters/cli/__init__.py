"""The command line. Commands that only read open the store; those that change talk to the server."""

from .main import main

__all__ = ["main"]
