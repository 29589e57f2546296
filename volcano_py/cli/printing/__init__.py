"""How verbs print objects: as tables, as data, once or as they change."""
