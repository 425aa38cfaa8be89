"""Write ``src/halfseen/__init__.pyi`` from the names that the package and the manifests of its families list.

python -m tools.stub
"""

from collections import defaultdict
from pathlib import Path

import halfseen

STUB = Path(__file__).parents[1] / "src" / "halfseen" / "__init__.pyi"
WIDTH = 120


def stub() -> str:
    """Return the text of the stub: an import of every public name, and the list of them."""
    names = list(halfseen.__all__)
    homes = halfseen._homes()
    by_module = defaultdict(list)
    for name in names:
        if name in homes:
            by_module[homes[name]].append(name)
    lines = [f"from halfseen import {name} as {name}" for name in halfseen._MODULES]
    for module in sorted(by_module):
        lines += imported(module, by_module[module])
    listed = "".join(f'    "{name}",\n' for name in names)
    return "\n".join([*lines, "", "__version__: str", "", f"__all__ = [\n{listed}]\n"])


def imported(module: str, names: list[str]) -> list[str]:
    """Return the lines that import names from a module."""
    line = f"from {module} import {', '.join(names)}"
    return [line] if len(line) <= WIDTH else [f"from {module} import (", *(f"    {name}," for name in names), ")"]


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
