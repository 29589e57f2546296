"""Values that users write into annotations and labels: how each is read, and what is said of one that cannot be."""
