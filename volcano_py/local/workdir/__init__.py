"""The working directory of a control plane: its files, certificates and kubeconfigs."""
