"""What other policies would have done with a load that a query once had, from its log alone."""
