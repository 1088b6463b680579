"""Texts to vectors: models, the cached and batched embedder, emotions."""
