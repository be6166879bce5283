"""The shared figures."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

from attention_live import plots


@pytest.fixture(autouse=True)
def _leave_no_trace():
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def test_heatmap_names_every_row_and_column_and_writes_every_number():
    plots.use_book_style()
    _, ax = plt.subplots()
    values = torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]], requires_grad=True)
    plots.heatmap(values, ["a", "b"], ["x", "y", "z"], ax=ax, title="Where each query looks")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y", "z"]
    assert [text.get_text() for text in ax.texts] == ["0.25", "0.75", "0.00", "1.00", "0.00", "0.00"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title("left")) == ("key", "query", "Where each query looks")


def test_heatmap_passes_options_on():
    _, ax = plt.subplots()
    plots.heatmap(torch.eye(2), ["a", "b"], ["x", "y"], ax=ax, title="", annot=False, vmax=4)
    assert not ax.texts
    assert ax.collections[0].get_clim() == (0, 4)


@pytest.mark.parametrize("cmap", ["Blues", "GnBu", "cividis", "vlag"])
def test_heatmap_writes_each_number_so_that_it_can_be_read_on_its_cell(cmap):
    _, ax = plt.subplots()
    plots.heatmap(torch.linspace(0, 1, 60).view(6, 10), list("abcdef"), list("abcdefghij"), ax=ax, title="", cmap=cmap)
    light = [relative_luminance(color) for color in ax.collections[0].get_facecolors()]
    for cell, number in zip(light, ax.texts, strict=True):
        dark, bright = sorted((cell, relative_luminance(number.get_color())))
        assert (bright + 0.05) / (dark + 0.05) >= 4.5


def relative_luminance(color) -> float:
    """How light a colour is, from 0 for black to 1 for white, as WCAG defines it."""
    red, green, blue = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in mpl.colors.to_rgb(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
