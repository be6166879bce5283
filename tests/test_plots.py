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
