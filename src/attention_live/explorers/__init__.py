"""Interactive figures that run with a kernel in JupyterLab and Colab, and without one on the website."""

from .attention import AttentionExplorer
from .base import Explorer

__all__ = ["AttentionExplorer", "Explorer"]
