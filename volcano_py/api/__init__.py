"""The vocabulary: Kubernetes and Volcano objects as the scheduler sees them, quantities, names, reasons, effects.

Nothing here does I/O or imports another layer.
"""
