"""What each preset prepares, fits and finishes, from records to a checkpoint folder."""
