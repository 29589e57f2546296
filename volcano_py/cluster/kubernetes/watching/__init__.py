"""Lists and watches: how what the API server has comes in."""
