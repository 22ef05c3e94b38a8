"""Anthropic's Messages API: requests become the engine's chats, answers the blocks and events of messages."""

from .routes import ROUTES

__all__ = ["ROUTES"]
