"""What a tenant with the rights of `edit` in one namespace can do to others: nothing that they notice."""
