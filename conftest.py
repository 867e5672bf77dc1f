"""What holds for every test: no time limit on a drawn example, for a busy machine must not fail a test."""

from hypothesis import settings

settings.register_profile("edgemem", deadline=None)
settings.load_profile("edgemem")
