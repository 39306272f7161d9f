"""The training loop: examples, batches, losses, optimization, validation, and the folder of a run."""
