"""One pass over the data, and the loop around it.

Vocabulary
----------
Model      a structure with its leaves; itself a leaf
Expected   statistics of some data and their share of the objective; they add
Step       parameters, the statistics gathered under them, and the objective that belongs to them
evaluate   one pass over the data for any number of candidate parameters
em         the loop: evaluate all runs, let each make its M-step, repeat
EMRun      one run of EM: its parameters, M-step and acceleration, when and why it stops
EMPair     two consecutive plain EM steps: what stopping rules and acceleration look at
GradientRun   one run of a gradient method, steepest ascent or L-BFGS
"""
