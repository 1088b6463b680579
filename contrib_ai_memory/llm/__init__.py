"""Language models: one protocol, an OpenAI-compatible provider, and one that needs no model."""
