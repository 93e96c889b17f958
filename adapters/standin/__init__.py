"""The stand-ins: the loop of one sub-task, what it does, and the supervisor of all of them."""
