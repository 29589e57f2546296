"""Figures that the documentation shows: how they are taken, and the results as measured."""
