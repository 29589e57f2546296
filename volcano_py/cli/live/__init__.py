"""A cluster on a screen: mirrored by watches, reduced to rows, shown as tables or as a line for each change."""
