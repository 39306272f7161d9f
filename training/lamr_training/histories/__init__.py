"""Training records out of git histories: what a commit says, and the lines that it changed in its parent's files."""
