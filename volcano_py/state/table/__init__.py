"""Columnar tables, their resource axis, and the sums that are kept over them."""
