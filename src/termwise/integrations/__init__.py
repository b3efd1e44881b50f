"""Adapters to frameworks, one module each; a module imports its framework, and nothing else imports the module."""
