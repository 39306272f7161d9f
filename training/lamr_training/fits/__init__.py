"""Fits what scores lines, on records of whole files: the network, associations, presence, biases and thresholds."""
