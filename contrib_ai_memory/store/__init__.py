"""Storage: what an NPC heard and whom it knows in Evennia Attributes, memories in a `MemoryStore`.

docs/architecture.md has the modules.
"""
