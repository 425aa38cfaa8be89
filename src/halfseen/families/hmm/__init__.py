"""Hidden Markov models: hidden states behind sequences."""
