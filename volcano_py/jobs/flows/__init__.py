"""JobFlows and JobTemplates, the pure part."""
