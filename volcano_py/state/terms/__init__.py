"""Terms: selectors and constraints of pods about other pods."""
