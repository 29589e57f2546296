"""The scheduling framework: plugins and their extension points, the session of one cycle, statements and placement."""
