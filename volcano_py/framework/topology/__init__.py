"""Jobs that are kept together in the tree of HyperNodes (`spec.networkTopology`)."""
