"""Observed values, missing values, row weights and labels. Independent of all models.

Vocabulary, in the order in which data passes through:

==============  ======================================================================================
`open_table`    a file of any size to a `FileTable`
`read`          any container (data frame, array, list of rows, file) to a `Source`
`RawColumn`     one column of it as given: numbers, True/False or text, and which cells are missing
`Column`        what a column means: its kind (an object, see `halfseen.kinds`) and its categories
`Schema`        all columns and their *blocks* (the columns that one leaf treats together)
`Evidence`      what labels say about the hidden component of each row: `read_labels`, `read_target`
`Table`         encoded blocks, row weights, evidence; `Table.canonical` merges equal rows
`Chunk`         some consecutive rows of a table: the unit of work
`Design`        how covariates become columns of numbers
`Sequences`     steps of sequences, one after the other; `read_sequences`; their chunks hold whole sequences
==============  ======================================================================================

Examples
--------
>>> source = read([["red", 1.5], ["blue", None], ["red", 1.5]])
>>> schema = Schema.learn(source)
>>> table = schema.encode(source).canonical()
>>> table.n_rows, sorted(table.weight.tolist())
(2, [1.0, 2.0])
"""

from halfseen.data.arrays import FastEncodingFailed
from halfseen.data.columns import Block, Column, learn_column
from halfseen.data.design import Design
from halfseen.data.files import FileTable, open_table
from halfseen.data.frames import RawColumn, Source, frame_from_dict, read
from halfseen.data.identifiers import identifiers
from halfseen.data.labels import Evidence, read_labels, read_target
from halfseen.data.row_weights import check_weight, row_weight
from halfseen.data.rows import Chunk
from halfseen.data.schema import Schema
from halfseen.data.sequences import (
    Cut,
    SequenceChunk,
    Sequences,
    Steps,
    check_sequence_weight,
    read_sequences,
    rows_of,
)
from halfseen.data.table import CHUNK, Table
from halfseen.data.write import TableWriter, write_table

__all__ = [
    "CHUNK",
    "Block",
    "Chunk",
    "Column",
    "Cut",
    "Design",
    "Evidence",
    "FastEncodingFailed",
    "FileTable",
    "RawColumn",
    "Schema",
    "SequenceChunk",
    "Sequences",
    "Source",
    "Steps",
    "Table",
    "TableWriter",
    "check_sequence_weight",
    "check_weight",
    "frame_from_dict",
    "identifiers",
    "learn_column",
    "open_table",
    "read",
    "read_labels",
    "read_sequences",
    "read_target",
    "row_weight",
    "rows_of",
    "write_table",
]
