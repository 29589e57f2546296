"""The page: a cluster in a browser, read with the rights of whoever starts it. Nothing is written."""
