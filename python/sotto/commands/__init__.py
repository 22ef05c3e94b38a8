"""Subcommands of the `sotto` command line tool: one module or one package per subcommand."""
