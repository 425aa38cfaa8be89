"""One pass over the data, and the loop around it.

Vocabulary
----------
Model      a structure with its leaves; itself a leaf
Expected   statistics of some data and their share of the objective; they add
Step       parameters, the statistics gathered under them, and the objective that belongs to them
evaluate   one pass over the data for any number of candidate parameters
em         the loop: evaluate, let every run move, repeat
Chain      one run of EM: where it stands, how it moves (plain or accelerated), when and why it stops
Ascent     one run of a gradient method, steepest ascent or L-BFGS
"""
