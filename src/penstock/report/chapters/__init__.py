"""The chapters of a story; each is left out where a journal does not tell of it."""
