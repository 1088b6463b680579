"""Where memories rest: journal, conversations, people and links in Attributes, facts in Mem0."""
