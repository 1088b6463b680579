"""What the offline provider knows of English: tokens, claims, dates, preferences, questions."""
