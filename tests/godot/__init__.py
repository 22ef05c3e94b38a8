"""Proof of the Godot addon in a real Godot: the editor, its exporter, and exported games."""
