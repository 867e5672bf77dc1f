"""From weighed evidence to an answer: only what was checked is said."""

from edgemem.answer.say.reply import reply

__all__ = ["reply"]
