"""The studio: a page on this machine on which a table is looked at, fitted, corrected and exported.

It computes nothing itself: a fit is that of ``halfseen fit``, a written file that of the verb of the same name.

start       from the command line to a running server
server      HTTP: pages, answers in JSON, a stream of events; `guard` says who may ask
routes      what can be asked, as functions of a session and a request; a notebook asks them without HTTP
session     what is on the screen: data, options (`spec`), models that were fitted (`versions`), labels, undo
jobs        fits, one at a time, in a thread of their own; `events` tells pages how they go
rows        the rows of the file, in a database of this process: pages, filters, sorting
em_request  what the screen EM asks for; `em_numbers` computes it, for lessons too
views/      what each screen shows, as plain values
export      files to take home; `code` makes a model again; `archive` keeps a session in a file
lessons/    guided tours
page/       what runs in the browser

In a notebook the page is a widget:

notebook    `hs.studio`: a model and a table in memory; the package can be called by this name too
held        the table, as a file that the session reads; the options of the model, as words of a command
messages    requests and events as messages of the widget
watch       `hs.watch`: a call that fits, with its curve
widgets     both, through anywidget; `browser_module` makes one module of the page's files
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that is also the function of the same name: importing a part of it sets `halfseen.studio` to it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Show a model and its data in a notebook; see `halfseen.studio.notebook.studio`."""
        return import_module("halfseen.studio.notebook").studio(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
