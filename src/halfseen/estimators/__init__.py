"""Estimators: the scikit-learn face. They read data at the door, build a model, let the engine fit it, and publish.

`blocks`          a table's columns as leaves: priors, floors, fixed and tied columns, starts given by the user
`table_mixture`   everything a fitted mixture over a table can do
`latent_class`    hidden classes behind a table
`kmeans`          centres of rows of numbers, by Lloyd's algorithm
`profile`         classes in tables and in words
"""
