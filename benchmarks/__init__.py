"""Speed and memory beside other libraries: same data, same start, same number of iterations, ratios in one run."""
