"""reservation: hold nodes for a large job that has waited for a long time, and let others use them in the meantime."""
