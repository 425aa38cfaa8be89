"""What of a fitted model goes into a paper: tables in the formats of journals, and a paragraph on methods.

`PaperTable`            a table as plain text cells, with its formats: LaTeX, HTML, Markdown, Word
`paper_table`           the parameters of a model by class or state, as such a table
`methods_paragraph`     how a model was fitted, in sentences
"""

from __future__ import annotations

from halfseen.estimators.publication.methods import methods_paragraph
from halfseen.estimators.publication.of_model import Tabulated, paper_table
from halfseen.estimators.publication.paper_table import Line, Panel, PaperTable

__all__ = ["Line", "Panel", "PaperTable", "Tabulated", "methods_paragraph", "paper_table"]
