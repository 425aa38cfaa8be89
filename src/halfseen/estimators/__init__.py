"""Estimators: what all families share of the scikit-learn interface.

`options`       options checked, with errors that show the value received
`convergence`   how a fit ended, and its warnings
`rollback`      a fit that fails leaves the estimator as it was
`state`         a fitted model as plain values and arrays, and back
`selection`     several numbers of components, the best by a criterion
`pickling`      pickles that carry the version
`table`         what estimators over a table share
"""
