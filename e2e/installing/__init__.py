"""Ways to install, and the way from Volcano: on a control plane of their own, without anything of ours at the start."""
