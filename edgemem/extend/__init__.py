"""The contract with plugins. A plugin imports `Component` and `hookimpl` from here."""

from edgemem.extend.hookspecs import Component, NoSettings, SettingsTable, hookimpl

__all__ = ["Component", "NoSettings", "SettingsTable", "hookimpl"]
