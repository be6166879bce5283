"""Settings for the tests: one torch thread, and the same examples from hypothesis in every run."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("book", deadline=None, derandomize=True)
settings.load_profile("book")
