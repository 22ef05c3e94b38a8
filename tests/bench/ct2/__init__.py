"""The parts of ctranslate2.py: one for each kind of model, and a game beside it."""
