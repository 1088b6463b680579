"""Storage: what an NPC heard and whom it knows in Evennia Attributes, memories in a `MemoryStore`.

- Attributes (`attributes`): `journal`, `people` and their profiles, `preferences`, `links`,
  `conversations`, `chat_log`; `owner` (whose memory it is), `pause`, `validation` of stored data.
- The memory store: its `protocol`, `payload` and search `lanes`, and the `history` of memories;
  `qdrant_edge` and `qdrant_server` (`lane_store` in common), `pgvector` and `mem0_store` implement
  it, `memory_store` opens it.
- Safety: `condition` (errors, whether it may be written), `metadata` (store.json), `generations`
  (store and game database belong together), `snapshot` (held still for a backup),
  `game_database` (secure deletion, VACUUM, full disk), `evidence` (work in progress is void once
  what it rests on is forgotten).
"""
