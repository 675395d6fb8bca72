"""Preference queries: which rows no other row is better than. Nothing here touches Spark."""
