"""The REST API: the operations of the commands and pages as JSON endpoints."""
