"""Characters of a game: a sheet, a memory and a conversation.

>>> with sotto.Engine() as engine, sotto.Store.open("town", dim=384) as store:
...     engine.load_model("sotto/house")
...     engine.load_model("sotto/minilm")
...     mara = Character(engine, Sheet("Mara", role="innkeeper"), store=store)
...     mara.tell("The cellar is locked after dusk.")
...     print(mara.say("When is the cellar locked?", by="Ilse"))
"""

from .character import Character, Saying
from .memory import Forgetting, Memories, Memory
from .sheet import Sheet

__all__ = ["Character", "Forgetting", "Memories", "Memory", "Saying", "Sheet"]
