"""Moving a cluster over from Volcano: what stands in the way, the steps, and the way back. Nothing is written."""
