"""Tokens without a model: how text is sliced for a tokenizer, how many tokens it has, and what may be read as one."""
