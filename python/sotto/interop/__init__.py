"""Converts GPU objects of other packages for an engine.

Each module requires its package: its functions raise `ImportError` if the package is missing.
"""
