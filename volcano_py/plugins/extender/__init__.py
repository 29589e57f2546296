"""The plugin extender."""
