"""The story of a run, told from its journal: in words, tables and figures."""
