"""Which nodes and which queues the shard of this scheduler has, and how nodes pass from one shard to another."""
