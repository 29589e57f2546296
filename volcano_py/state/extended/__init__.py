"""Extended resources that device classes offer: what pods ask of them, and the claims that are created for them."""
