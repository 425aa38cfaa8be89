"""What a referee asks of a fitted model: how sure its parameters are, and how well it fits.

Scores of units and the curvature of the objective, standard errors, bootstrap, diagnostics of fit. Nothing here knows a
family of models; an estimator is asked for:

`_observed(X, **how)`        the data as `Observed`, for passes over all and unit by unit
`_resampled(X, **how)`       the data as `Resampled`, to be drawn again or from the model
`_named_parameters()`        its parameters one by one, as `NamedParameters`
"""
