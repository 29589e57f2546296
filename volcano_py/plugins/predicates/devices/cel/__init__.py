"""CEL over devices: the expressions of device classes and requests, as Kubernetes evaluates them."""
