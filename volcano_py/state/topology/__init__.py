"""The network: the tree of HyperNodes, and how near to each other the pods of a PodGroup have to be."""
