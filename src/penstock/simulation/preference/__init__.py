"""A preference query in two stages of workers, as Elastic-PPQ runs it, without running it."""
