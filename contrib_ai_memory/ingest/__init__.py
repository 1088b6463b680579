"""Text on its way into memory: cleaned, weighed, indexed, turned into experiences."""
