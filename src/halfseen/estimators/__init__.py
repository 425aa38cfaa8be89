"""Estimators: what all families share of the scikit-learn interface.

`base`          the base of every estimator, and parts that several have
`options`       options that estimators share: declared, documented, checked, turned into a plan
`starts`        starts of a fit
`convergence`   how a fit ended, and its warnings
`rollback`      a fit that fails leaves the estimator as it was
`state`         a fitted model as plain values and arrays, and back
`selection`     several models fitted, the best by an information criterion
`table`         what estimators over a table share
"""
