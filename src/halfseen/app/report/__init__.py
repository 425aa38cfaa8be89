"""The report: one self-contained HTML file about a fitted model and its data.

`page`       `report`: from a model and a table to a file
`material`   what the sections share, computed once
`parts`      what a section is made of, as plain values for the template
`sections`   the section that all reports share
`checks`     checks and traits that several reports share
`trust`, `missing_values`, `rows`, `text`   longer sections of the reports on tables
`figures`    matplotlib figures as inline SVG
`templates`  the page itself

The report of a family is its module ``report``: ``SECTIONS`` is a list of functions of (model, material) that return a
Section, or None where there is nothing to say, and ``MATERIAL`` builds what they share. Its manifest has the titles.
"""
