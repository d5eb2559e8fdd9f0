"""The Meta Memory Manager and its managers: new messages to proposals, by a language model."""

from memstrata.ingest.managers.meta import Desk, Reading, Strategy, read, together
from memstrata.ingest.managers.units import Unit, units

__all__ = ["Desk", "Reading", "Strategy", "Unit", "read", "together", "units"]
