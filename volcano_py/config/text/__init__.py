"""The text of a configuration: as a tree with places, and its problems as people read them."""
