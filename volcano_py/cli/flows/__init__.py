"""JobFlows and JobTemplates on the command line."""
