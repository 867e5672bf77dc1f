"""From words to a typed record of what is asked."""

from edgemem.answer.understand.parse import understand
from edgemem.answer.understand.record import Form, Hint, Kind, Parsed, Relation

__all__ = ["Form", "Hint", "Kind", "Parsed", "Relation", "understand"]
