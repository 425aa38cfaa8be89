"""The engine: EM is the loop.

`loop`       one pass over the data (`evaluate`), the loop (`em`), one run and how it moves, stopping, restarts
`services`   what wraps the loop: checkpoints, progress, interrupts
`tables`     mixtures over the rows of a table: the model, its fused kernels, starts, Lloyd's algorithm
"""
