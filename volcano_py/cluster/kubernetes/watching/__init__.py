"""Lists and watches: how objects come in from the API server."""
