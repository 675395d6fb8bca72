"""The experiments of the papers, run again in the simulator, beside what the papers report."""
