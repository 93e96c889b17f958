"""A text that must not be seen: it has to be asked for, and never shows in a repr, log or dump."""

import hmac

__all__ = ["Secret"]


class Secret:
    """Holds a secret text. `reveal()` gives it; everything else masks it (G8, J2)."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself; put it nowhere but into the request or comparison that needs it."""
        return self._text

    def matches(self, other: str) -> bool:
        """True when `other` is the same text; takes the same time however much of it is right."""
        return hmac.compare_digest(self._text.encode(), other.encode("utf-8", "surrogatepass"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.matches(other._text)

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(****)"
