"""What a simulation found, for people: figures, and a page that needs nothing else."""
