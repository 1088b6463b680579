"""Recall [B §3, C §2, §4] and replies: candidates, scores, budget, <memory> block, tool loop."""
