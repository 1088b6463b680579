"""The REST API of the memories, beside Evennia's own: the same acts as the commands and pages."""
