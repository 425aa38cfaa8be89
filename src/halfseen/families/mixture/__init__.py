"""Mixtures over the rows of a table: latent classes, Gaussian mixtures, and classifiers."""
