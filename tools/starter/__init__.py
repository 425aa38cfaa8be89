"""The starter model of `hs.load_speech`: speech of free synthesisers whose times are known, and training on it."""
