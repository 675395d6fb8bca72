"""The pages: each a function of what is shown, in a file of its own."""
