"""What training starts from: backbone, vocabulary and token rarity; and what a trained model's parts have learned."""
