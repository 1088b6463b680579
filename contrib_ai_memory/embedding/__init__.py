"""Text to vectors: the model, the cached and batched embedder over it, emotions by prototype."""
