"""What DESIGN §9 promises, measured: each module is run as `python -m benchmarks.NAME`."""
