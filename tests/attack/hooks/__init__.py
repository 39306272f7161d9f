"""What is tried against the hook of Claude Code and its local server, a module a kind."""
