"""Policies literally as their papers print them, to be compared with."""
