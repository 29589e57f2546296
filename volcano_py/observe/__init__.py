"""What the scheduler shows about itself: logs, metrics, health and state over HTTP, and the pages generated from them.

A leaf: it reads the values of `volcano_py.api` and knows no other layer; the daemon hands it what to show.
"""
