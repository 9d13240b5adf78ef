"""Tools for those who work on the package; no part of it."""
