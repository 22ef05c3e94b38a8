"""Search for agents: functions of the application, folders, stores and the web.

>>> search = Search(engine, FolderSource("data/rules"), name="look_up_rule")
>>> print(search.find("falling damage").text)
"""

from .addresses import FetchError
from .base import HitSource, Inquiry
from .folder import FolderSource
from .hit import Hit
from .search import Search, SearchResult
from .stored import StoreSource
from .web import WebSource

__all__ = [
    "FetchError",
    "FolderSource",
    "Hit",
    "HitSource",
    "Inquiry",
    "Search",
    "SearchResult",
    "StoreSource",
    "WebSource",
]
