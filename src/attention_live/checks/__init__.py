"""What marks the book's exercises: the engine, and one module of exercises a chapter.

`python -m attention_live.checks grade FOLDER` marks the notebooks of a class.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import Chapter


def chapters() -> "dict[str, Chapter]":
    """The exercises of every chapter, by the name of the module that holds them, in the book's order."""
    modules = [importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    named = {module.__name__.rpartition(".")[2]: module.chapter for module in modules if hasattr(module, "chapter")}
    return dict(sorted(named.items(), key=lambda item: int(item[1].number)))
