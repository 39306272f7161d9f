"""The `lamr` command: arguments, terminal output and exit codes; no logic of its own."""
