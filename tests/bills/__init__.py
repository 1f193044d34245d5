"""Real bills, one row each: what went in, what was billed or must come out, and who says so."""
