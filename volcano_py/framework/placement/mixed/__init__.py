"""Tasks of many classes, one after the other."""
