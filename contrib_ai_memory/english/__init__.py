"""Rules for English talk: words, sentences, questions, claims, preferences, contradictions."""
