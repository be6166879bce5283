"""Settings for every pytest run, of the tests and of the notebooks alike."""

import os

# Progress bars are for a reader who waits; in a stored or compared output they would be noise.
os.environ["TQDM_DISABLE"] = "1"
