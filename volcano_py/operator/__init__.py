"""The controllers: queues, Commands and PodGroups of plain pods; their decisions are pure, and `simulate` uses them."""
