"""The positions explorer: sinusoidal codes as waves, as a map and as turning hands, and how alike they are."""

import traitlets

from .base import Explorer

WIDTHS = [4, 8, 16, 32, 64]  # here as in positions.mjs, like the three that follow
BASES = [10, 100, 1000, 10_000]
LAST_POSITION = 40
LARGEST_OFFSET = 23


class PositionsExplorer(Explorer):
    """The codes of 64 positions, and two of these positions compared.

    Args:
        d_model: width of a code, one of 4, 8, 16, 32 and 64.
        base: the slowest wave is almost 2π · base positions long; a power of ten from 10 to 10 000.
        position: the first of the two, 0 ≤ position ≤ 40.
        offset: how many positions after it the second stands, 0 ≤ offset ≤ 23.

    Each argument is a trait that can be read and set later.

    Raises:
        TraitError: when a value breaks one of these rules. The explorer then stays as it was.
    """

    module = "positions"
    title = "The positions explorer"

    d_model = traitlets.Int(16).tag(sync=True)
    base = traitlets.Int(10_000).tag(sync=True)
    position = traitlets.Int(10).tag(sync=True)
    offset = traitlets.Int(8).tag(sync=True)

    @traitlets.validate("d_model")
    def _width_is_offered(self, proposal):
        return _checked(proposal["value"] in WIDTHS, proposal, f"one of {WIDTHS}")

    @traitlets.validate("base")
    def _base_is_offered(self, proposal):
        return _checked(proposal["value"] in BASES, proposal, f"one of {BASES}")

    @traitlets.validate("position")
    def _position_is_on_the_slider(self, proposal):
        return _checked(0 <= proposal["value"] <= LAST_POSITION, proposal, f"from 0 to {LAST_POSITION}")

    @traitlets.validate("offset")
    def _offset_is_on_the_slider(self, proposal):
        return _checked(0 <= proposal["value"] <= LARGEST_OFFSET, proposal, f"from 0 to {LARGEST_OFFSET}")


def _checked(is_right, proposal, rule):
    if not is_right:
        raise traitlets.TraitError(f"{proposal['trait'].name} must be {rule}, got {proposal['value']!r}")
    return proposal["value"]
