"""The NodeShard of this scheduler: its nodes are claimed, used and let go."""
