"""Faults by the hundred: each injected, then what was seen held against what is promised."""
