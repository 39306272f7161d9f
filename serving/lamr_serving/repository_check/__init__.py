"""The check of a model repository before anything serves it."""
