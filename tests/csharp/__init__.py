"""Checks of the Unity package outside Unity: compile, run, reload."""
