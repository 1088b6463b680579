"""Texts to vectors: models, the batched and cached embedder, emotions."""
