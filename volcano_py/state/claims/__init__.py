"""Which pods use which claims, to volumes and to devices."""
