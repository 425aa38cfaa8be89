"""Families of models, one folder each: model, fit, estimator, state, file formats, report, commands."""
