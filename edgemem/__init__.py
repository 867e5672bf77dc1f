"""edgemem: an on-device visual memory that fades within a byte budget and answers with evidence."""

__version__ = "0.1.0"
