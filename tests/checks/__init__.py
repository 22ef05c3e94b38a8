"""What `tests/check.py` is made of."""
