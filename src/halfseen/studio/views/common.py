"""What all screens share: the state, undo, the model that is shown, and the views of families."""

from __future__ import annotations

from typing import Any

from halfseen.studio.refusal import NotThere
from halfseen.studio.routes import Ask


def state(ask: Ask) -> dict[str, Any]:
    """Return the session."""
    return ask.session.state()


def undo(ask: Ask) -> dict[str, Any]:
    """Take back what was done last."""
    ask.session.undo()
    return ask.session.state()


def redo(ask: Ask) -> dict[str, Any]:
    """Do again what was taken back."""
    ask.session.undo(-1)
    return ask.session.state()


def show(ask: Ask) -> dict[str, Any]:
    """Show another version."""
    number = ask.number("version")
    if number is None:
        raise NotThere("version: name the model to show.")
    ask.session.show(number)
    return ask.session.state()


def view(ask: Ask) -> Any:
    """Return a view of the family of the model that is shown."""
    version = ask.session.version(ask.number("version"))
    name = ask.text("name") or ""
    views = getattr(version.studio, "VIEWS", {})
    if name not in views:
        raise NotThere(f"{version.family.title} have no view {name!r:.40}.")
    given = ask.body.get("ask")
    rows = ask.session.material(version) if ask.session.has_data and "data" in version.family.verbs else None
    memo = ask.session.memo.setdefault(("views", version.number, ask.session.spec.data, ask.session.spec.missing), {})
    return views[name](version.model, rows, given if isinstance(given, dict) else {}, memo)


ROUTES = {
    ("GET", "state"): state,
    ("POST", "undo"): undo,
    ("POST", "redo"): redo,
    ("POST", "show"): show,
    ("POST", "view"): view,
}
