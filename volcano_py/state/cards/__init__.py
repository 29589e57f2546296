"""Parts of GPUs: what pods ask for, and which cards those that are placed hold."""
