"""A cluster on a screen: mirrored by watches, boiled down to rows, shown as tables or as lines that tell changes."""
