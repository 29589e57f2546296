"""Terms: selectors and constraints by which pods speak of other pods."""
