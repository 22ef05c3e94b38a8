"""What the `sotto` command can do: one module, or one folder, a command."""
