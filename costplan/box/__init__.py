"""What is on a box, and whether it is safe elsewhere."""
