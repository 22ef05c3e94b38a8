"""The server: an engine behind HTTP, for clients of OpenAI's API and of llama.cpp's server.

Needs the extra `server`: `pip install sotto-runtime[server]`. The command is `sotto serve`.
"""

from .application import app
from .settings import Settings

__all__ = ["Settings", "app"]
