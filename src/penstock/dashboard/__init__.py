"""Shows journals in a browser: a process of its own, which reads them and nothing else."""
