"""What the scheduler shows of itself: logs, metrics, health and state over HTTP, and the pages generated from them.

A leaf: it reads the values of `volcano_py.api` and knows no other layer; the daemon hands it what to show.
"""

from importlib import import_module

from volcano_py.observe.not_installed import not_installed

# structlog loads all of rich where it is installed, for tracebacks that it could draw with it. Ours are plain, and rich
# is a tenth of what the daemon would load.
with not_installed("rich"):
    import_module("structlog")
