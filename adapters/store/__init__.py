"""The store: the journal that records events, and the views that follow from them."""

from .journal import Journal, OnEvents
from .ledger import Stored
from .views import Views
from .writer import Recorded

__all__ = ["Journal", "OnEvents", "Recorded", "Stored", "Views"]
