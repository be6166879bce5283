"""Interactive figures that run with a kernel in JupyterLab and Colab, and without one on the website."""

from .attention import AttentionExplorer
from .base import Explorer
from .gradient_reach import GradientReachExplorer
from .heads import HeadsExplorer
from .masks import MasksExplorer
from .positions import PositionsExplorer
from .scaling import ScalingExplorer

__all__ = [
    "AttentionExplorer",
    "Explorer",
    "GradientReachExplorer",
    "HeadsExplorer",
    "MasksExplorer",
    "PositionsExplorer",
    "ScalingExplorer",
]
