"""What wraps the loop: `checkpoint` (resume an interrupted fit), `progress` (who is told), `interrupt` (Ctrl-C)."""
