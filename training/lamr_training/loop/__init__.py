"""The training loop: examples, batches, losses, optimization, validation, and the folders of work and runs."""
