"""Causal language models, which say how likely each token is after those before it: their description, and scorers."""
