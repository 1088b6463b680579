"""Storage: what an NPC heard and whom it knows in Evennia Attributes, memories in a `MemoryStore`.

- Attributes (`attributes`): `journal`, `people` and their profiles, `preferences`, `links`,
  `conversations`, `chat_log`; `owner` (whose memory it is), `pause`.
- The memory store: its contract (`protocol`), `payload` and search `lanes`; `qdrant_edge`,
  `qdrant_server` (`qdrant` is what both share) and `pgvector` are one class each over it,
  `memory_store` opens the one of the settings; `mem0_adapter` is what Mem0 sees of it.
- Safety: `condition` (errors, whether it may be written), `metadata` (store.json), `generations`
  (store and game database belong together), `snapshot` (held still for a backup),
  `game_database` (secure deletion, VACUUM, full disk), `evidence` (work in progress is void once
  what it rests on is forgotten).
"""
