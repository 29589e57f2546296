"""Binding: placements that are final, and the effects that carry them out."""
