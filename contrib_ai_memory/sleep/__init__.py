"""While asleep [A]: the journal is scored, consolidated into facts, and linked."""
