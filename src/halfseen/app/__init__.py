"""Command line, reports and model files: the user interface, without models of its own."""
