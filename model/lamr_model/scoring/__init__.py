"""How a line gets its score, and nothing else.

`scorer` calls the others in order; docs/architecture.md draws the way. The package knows a model's answers, words,
lines and features. It knows no tokenizer, no transport and no rendering."""
