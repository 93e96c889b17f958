"""The store: the journal that records events, and the views that follow from them."""

from .journal import Journal, OnEvents
from .ledger import Stored
from .verify import Fault, Verified, verify
from .views import Views
from .writer import Recorded

__all__ = ["Fault", "Journal", "OnEvents", "Recorded", "Stored", "Verified", "Views", "verify"]
