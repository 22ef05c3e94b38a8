"""The client for asyncio. `tests/python/client_twin.py` writes all of it but `transport.py` from `_sync`."""
