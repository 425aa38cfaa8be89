"""Bayesian networks of categorical variables."""
