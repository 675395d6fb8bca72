"""Streams to simulate with: those of the papers, each with the statistic it is known for."""
