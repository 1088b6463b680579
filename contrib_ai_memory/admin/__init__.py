"""Administration of memories, called by commands, pages, API and command line alike."""
