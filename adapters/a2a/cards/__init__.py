"""Agent cards: fetched, read, judged (section A). What keeps them current is one floor up."""
