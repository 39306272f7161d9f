"""Checking a model repository before anything serves it."""
