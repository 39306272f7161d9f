"""The presets of `lamr train`: what each prepares, fits and finishes, from records to a checkpoint folder."""
