"""What staff do to a memory; commands, pages, API and command line all call these functions."""
