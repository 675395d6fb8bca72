"""One operator with parallel instances, tuple by tuple: the level of POSG's experiments."""
