"""k-means: hard EM with one fixed variance, by Lloyd's algorithm."""
