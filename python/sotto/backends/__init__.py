"""Backends written in Python: models of any library, run by the engine like its own.

>>> class Innkeeper(Model):
...     def chat(self, request):
...         yield from ("Ale", " is", " three", " copper.")
>>> class Inn(Backend):
...     name = "inn"
...     def open(self, source):
...         return Innkeeper()
>>> engine.add_backend(Inn())
>>> engine.load_model("keeper", path="-", backend="inn")
>>> engine.chat("What is ale?", model="keeper").text
'Ale is three copper.'
"""

from __future__ import annotations

from .base import Backend, Cancelled, Model, ModelInfo, Part, Request, Source

__all__ = ["Backend", "Cancelled", "Model", "ModelInfo", "Part", "Request", "Source"]
