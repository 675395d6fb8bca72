"""Values looked up by key in a place that is slow to ask, and kept by those who asked."""
