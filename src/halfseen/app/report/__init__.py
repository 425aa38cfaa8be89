"""The report: one self-contained HTML file about a fitted model and its data.

`page`       `report`: from a model and a table to a file
`material`   what the sections share, computed once
`parts`      what a section is made of, as plain values for the template
`sections`   which sections the report of each family has, and those that all families share
`mixture`    the report on a mixture over a table, LatentClass or NaiveBayes
`chain`      the report on a hidden Markov model
`clusters`   the report on k-means
`grammar`    the report on a grammar
`network`    the report on a Bayesian network; `graph` draws it
`trust`, `holes`, `rows`, `classifier`   its longer sections
`figures`    matplotlib figures as inline SVG
`templates`  the page itself

A family adds its report with ``SECTIONS["Name"] = [builder, ...]``, each a function of (model, material) that returns a
Section or None, and ``MATERIAL["Name"]``, what its builders share.
"""
