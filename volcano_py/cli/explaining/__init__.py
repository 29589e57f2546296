"""`volcano-py explain`: the verb, and how an explanation is drawn."""
