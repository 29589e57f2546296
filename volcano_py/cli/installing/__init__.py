"""Verbs around an installation: what is installed, and the way from Volcano."""
