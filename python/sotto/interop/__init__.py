"""Hands objects of other packages to an engine. Each module needs its package, and says so."""
