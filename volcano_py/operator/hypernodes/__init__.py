"""The HyperNode controller: how many nodes each has, and what is wrong with it."""
