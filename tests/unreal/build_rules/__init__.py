"""Compiles the plugin's Build.cs files against a double of UnrealBuildTool, and runs them."""
