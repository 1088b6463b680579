"""Words themselves: made harmless, read for what they hold, told by another person."""
