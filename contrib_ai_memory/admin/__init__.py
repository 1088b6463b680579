"""How people look after a memory: commands, pages and API do the same things through here."""
