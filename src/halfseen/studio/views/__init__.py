"""What each screen shows and takes, as plain values: a module for each, with its `ROUTES`."""
