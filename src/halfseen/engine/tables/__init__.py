"""Mixtures over the rows of a table: the model, its fused kernels, how rows are prepared, where fits start."""
