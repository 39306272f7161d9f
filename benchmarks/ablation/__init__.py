"""The ablation study: variants of the model, their training, and the table of the results."""
