"""What would help a pod that nodes refuse: the sentences that follow a refusal."""
