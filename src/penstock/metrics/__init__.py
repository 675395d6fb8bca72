"""What Prometheus sees of queries: journals in, metrics out. Nothing here touches a query."""
