"""Staff pages and the REST API, in the game's own website."""
