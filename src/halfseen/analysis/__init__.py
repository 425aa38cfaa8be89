"""What a fitted model shows about its data, and how far to trust it.

Decisions under costs, the bound that EM maximises, posteriors of parameters; residuals, missing values, a check of
imputation, unusual rows, comparison of models and cross-validation. Posteriors, statistics and steps come from the
engine that training uses.

Nothing here knows a family of models. Where families differ, an analysis asks the model for it, by methods that are
described where they are used:

`_cell_imputer(X, y, sample_weight)`     a `CellImputer` of `imputation_check`
`_components()`                          the components as `comparison` takes them, `Compared`
`_evidence(y, n_rows)`, `_out_of_fold(...)`     labels and cross-validated posteriors of a classifier, for `validation`
`_by_class(by_component)`                sums over the components of each class, for `scored_table`
"""
