"""Fits what scores lines, on records of whole files: the line model, presence, biases and thresholds."""
