"""The rules of admission: what queues, PodGroups and jobs must look like before they are stored.

Pure functions from an object, and a frozen view of the queues, to a list of violations. The webhook server in
`operator/` calls them; the scheduler never relies on their having been called.
"""
