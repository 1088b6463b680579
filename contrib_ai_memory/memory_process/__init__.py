"""Memory process: all jobs of the MEMORY lane in a process of their own (docs/adr/029)."""
