"""Bringing to mind: query → candidates → scores → budget → the <memory> block [B §3, C §2, §4]."""
