"""The page over HTTP: who may see it, what it is made of, and how it is kept up to date."""
