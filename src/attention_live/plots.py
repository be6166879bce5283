"""The figures' common style, and the plots that more than one chapter draws."""

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from torch import Tensor

PALETTE = sns.color_palette("colorblind")
"""The book's colours in their fixed order, safe for colour-blind readers."""


def use_book_style() -> None:
    """Make every figure that follows look like the book's: size, resolution, fonts, grid, colours."""
    sns.set_theme(context="notebook", style="whitegrid", palette=PALETTE)
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "axes.titlesize": "medium",
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "grid.color": "#e4e4e4",
            "legend.frameon": False,
            "lines.linewidth": 2,
        }
    )


def heatmap(values: Tensor, rows: list[str], columns: list[str], *, ax: Axes, title: str, **options) -> None:
    """Draw a matrix of weights or scores with its numbers: one row a query, one column a key.

    Each number is black or white, whichever stands out more from its cell: by 4.5 : 1 or better, as WCAG asks.

    Args:
        values: (Tq, Tk), drawn as it is.
        rows: Tq names, of the queries.
        columns: Tk names, of the keys.
        ax: where to draw.
        title: the figure's one message.
        options: passed on to `seaborn.heatmap`, for instance `vmin` and `vmax`.
    """
    defaults = {"annot": True, "fmt": ".2f", "cmap": "Blues", "cbar": False, "square": True, "linewidths": 1}
    sns.heatmap(values.detach().numpy(), xticklabels=columns, yticklabels=rows, ax=ax, **defaults | options)
    mesh = ax.collections[-1]
    colors = mesh.to_rgba(mesh.get_array())  # (Tq, Tk, 4)
    for number in ax.texts:
        column, row = (int(place) for place in number.get_position())
        light = sns.utils.relative_luminance(colors[row, column])
        black, white = (light + 0.05) / 0.05, 1.05 / (light + 0.05)
        number.set_color("black" if black > white else "white")
    ax.set(title=title, xlabel="key", ylabel="query")
    ax.tick_params(axis="y", rotation=0)
