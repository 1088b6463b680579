"""Memory process: embedding model, store and all jobs of the MEMORY lane in a process of their own.

`channel` is what both sides share, `client` the game's side, `server` the process itself
(docs/adr/029). The setting `MEMORY_PROCESS` switches it on.
"""
