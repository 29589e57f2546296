"""What the plugin `extender` and its server say to each other, and how they are connected."""
