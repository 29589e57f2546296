"""The daemon's side of the plugin `extender`: requests to the server, and the objects that are sent whole."""
