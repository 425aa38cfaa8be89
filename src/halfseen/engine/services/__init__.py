"""What wraps the loop: `checkpoint` (resume a fit), `progress` (a callback after each pass), `interrupt` (Ctrl-C)."""
