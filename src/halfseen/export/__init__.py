"""Fitted models in other languages: formulas that databases and runtimes evaluate without this library.

`formula`     what a formula is made of: the operations that every language has
`posterior`   from scores of components to probabilities of classes, in any language
`series`      for log-densities of counts
`sql`         SQL, in several dialects
`onnx`        a graph of ONNX, in float64

A kind of column says how the log-density of its cells is written (`Kind.exported_cell`, `Kind.exported_scores`), a
family of models what its outputs are (module ``export`` of its folder). Neither knows the language.
"""
