"""Plain text: sanitising, redaction of secrets, plurals."""
