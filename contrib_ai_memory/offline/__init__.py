"""What works without a language model: the offline provider, and its answers."""
