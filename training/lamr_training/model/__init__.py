"""What training starts from: backbones, vocabularies, and figures of a trained model."""
