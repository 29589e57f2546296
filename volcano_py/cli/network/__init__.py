"""`volcano-py topology`: the tree of HyperNodes, and what is in each of them."""
