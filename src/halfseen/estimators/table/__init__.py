"""What estimators over a table share, whatever is hidden behind its rows.

`emission_builder`   columns as leaves: priors, floors, fixed and tied columns, starts given by the user
`table_mixture`      everything a fitted mixture over a table can do
`profile`            classes in tables and in words
`covariance_types`, `numeric_schema`   tables of numbers: shapes of covariances, arrays as in scikit-learn and hmmlearn
`cells`              decoded columns, and missing cells filled in the container they came in
`column_kinds`       kinds of columns as options name them
`column_events`      what a fit records about columns
`why`                what each column adds to the log-odds of a row's class
`state`              columns, summary and parameters in a model file; the fingerprint of a table
`html_repr`          a fitted mixture in a notebook

What a column is and does, its kind says (`halfseen.kinds`).
"""
