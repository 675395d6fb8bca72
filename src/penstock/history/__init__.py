"""What journals tell over time: kept small enough to draw, however long a query has run."""
