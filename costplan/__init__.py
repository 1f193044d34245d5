"""Cost, speed and idleness of training jobs on rented GPUs."""

__version__ = "0.1.0"
