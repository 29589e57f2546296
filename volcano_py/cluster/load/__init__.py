"""How much of nodes is in use, asked of those who measure it."""
