"""The pruner as a server of the Model Context Protocol; needs the extra `mcp`."""
