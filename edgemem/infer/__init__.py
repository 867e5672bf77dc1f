"""A model card and a runtime make an engine; a decoder gives its arrays a meaning."""
