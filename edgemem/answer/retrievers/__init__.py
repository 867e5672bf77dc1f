"""Where an answer may be found: pictures, what was read, said and done."""
