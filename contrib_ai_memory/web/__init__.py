"""Staff pages and the REST API, as part of the game's website."""
