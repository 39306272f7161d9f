"""Viterbi over a packed batch.

Where neighbours attract (J >= 0) the message into the next token, by how much the best prefix that keeps it beats
the best that prunes it, is clamp(message + h_i + J, 0, J). Going back, d_i = message + h_i decides: token i is kept
if d_i >= 0, pruned if d_i < -J, and in between takes the label of its successor.

Fields are taken as whole multiples of 2^-28 nats. All sums are then exact in float64, so the order in which steps
are composed, and thus where a sequence lies in its batch, can't change a label; and a tie is a tie. This module
knows chains in their plain form (`lamr_decoding.chain`) and picks the form of the passes.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from lamr_decoding import rows
from lamr_decoding.chain import Chain
from lamr_decoding.maps import ClampMaps, LabelMaps
from lamr_decoding.packing import Array, Packing, like
from lamr_decoding.scan import scan

_UNITS_PER_NAT = 2.0**28
# Potentials up to 2^15 make couplings, and messages, up to 2^17 nats. A field beyond 2^18 then settles its token's
# label, and no sum leaves 2^19 nats = 2^47 units.
MOST_POTENTIAL = 2.0**15
_MOST_FIELD = 2.0**18


def labels(chain: Chain) -> Array:
    """The best labels, uint8 [T]; ties as `lamr_decoding.crf.viterbi` says."""
    xp = array_api_compat.array_namespace(chain.fields)
    units = xp.round(xp.clip(chain.fields, -_MOST_FIELD, _MOST_FIELD) * _UNITS_PER_NAT)
    coupling = xp.round(chain.coupling * _UNITS_PER_NAT)
    if coupling >= 0:
        return xp.astype(_attracted(units, coupling, chain.packing), xp.uint8)
    # Relabelling every other token turns neighbours that repel into ones that attract: with y = 1 - z there,
    # h y = h - h z, and the term J y y' of each neighbour becomes J y' - J z y'.
    turned = like(np.arange(chain.packing.tokens) % 2 == 1, units)
    neighbours = like(2.0 - chain.packing.first - chain.packing.last, units)
    units = xp.where(turned, -units, units + coupling * neighbours)
    # A tie must keep y, hence prune z.
    found = _attracted(units, -coupling, chain.packing, reluctant=turned)
    return xp.astype(found ^ turned, xp.uint8)


def _attracted(units: Array, coupling: Array, packing: Packing, reluctant: Array | None = None) -> Array:
    """Best labels, bool [T], for fields and a coupling >= 0 in units; `reluctant` tokens are pruned on a tie."""
    if array_api_compat.is_numpy_array(units):
        return rows.best_labels(units, packing, float(coupling), reluctant)
    xp = array_api_compat.array_namespace(units)
    zero, last = xp.zeros_like(units), like(packing.last, units)
    ends = xp.stack([zero, xp.where(last, zero, coupling)])
    ahead = units + scan(ClampMaps(xp, ends, units + coupling), zero[:1, None])
    if reluctant is not None:
        ahead = ahead - xp.astype(reluctant, xp.float64)  # half a unit would do
    certain, follows = ahead >= 0, (ahead >= -coupling) & ~last
    after = scan(LabelMaps(xp.flip(certain), xp.flip(follows)), xp.zeros_like(certain[:1, None]))
    return certain | (follows & xp.flip(after))
