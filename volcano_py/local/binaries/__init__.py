"""Where the binaries of the control plane come from."""
