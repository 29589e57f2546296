"""Sentences for people: amounts, lists and explanations."""
