"""Estimators: the scikit-learn face. They read data at the door, build a model, let the engine fit it, and publish.

`blocks`          a table's columns as leaves: priors, floors, fixed and tied columns, starts given by the user
`table_mixture`   everything a fitted mixture over a table can do
`hidden_classes`  fitting where the classes are hidden: one fit, fits in pieces, a choice among many
`latent_class`    hidden classes behind a table
`kmeans`          centres of rows of numbers, by Lloyd's algorithm
`gaussian_mixture`, `gaussian_classifier`   rows of numbers, jointly normal; `numbers` has what both need
`profile`         classes in tables and in words
`topology`        which states may follow which, and how long they last at least
`chain_use`       everything a fitted hidden Markov model can do
`chain_em`        inside its fit
`hmm`             hidden states behind sequences
"""
