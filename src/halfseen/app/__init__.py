"""What a person types and sees: consumes results, decides nothing."""
