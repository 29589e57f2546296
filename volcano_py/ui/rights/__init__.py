"""What a user may see: asked of the API server, or, with the user's own kubeconfig, all that could be read."""
