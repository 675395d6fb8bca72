"""A simulated cluster, on which the same placements and policies run as on a real one."""
