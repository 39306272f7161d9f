"""Viterbi over a packed batch.

Where neighbours attract (J >= 0) the message into the next token, by how much the best prefix that keeps it beats
the best that prunes it, is clamp(message + h_i + J, 0, J). Going back, d_i = message + h_i decides: token i is kept
if d_i >= 0, pruned if d_i < -J, and in between takes the label of its successor.

Fields are taken as whole multiples of 2^-28 nats. All sums are then exact in float64, so the order in which steps are
composed, and thus where a sequence lies in its batch, can't change a label; and a tie is a tie.
"""

from __future__ import annotations

import array_api_compat
import numpy as np

from lamr_decoding import rows
from lamr_decoding.chain import Chain
from lamr_decoding.maps import MOST_FIELD, UNITS_PER_NAT, ClampMaps, LabelMaps
from lamr_decoding.namespaces import namespace_of
from lamr_decoding.packing import Array, Packing, like
from lamr_decoding.scan import scan


def labels(chain: Chain) -> Array:
    """The best labels, uint8 [T]; ties as `lamr_decoding.crf.viterbi` says."""
    xp = namespace_of(chain.fields)
    packing, coupling = chain.packing, xp.round(chain.coupling * UNITS_PER_NAT)
    if array_api_compat.is_numpy_array(chain.fields):
        return rows.best_labels(chain.fields, packing, float(coupling)).view(np.uint8)
    units = xp.round(xp.clip(chain.fields, -MOST_FIELD, MOST_FIELD) * UNITS_PER_NAT)
    if coupling >= 0:
        return xp.astype(_attracted(units, coupling, packing, xp.zeros_like(units)), xp.uint8)
    # Relabelling every other token turns neighbours that repel into ones that attract: with y = 1 - z there,
    # h y = h - h z, and the term J y y' of each neighbour becomes J y' - J z y'.
    turned = like(np.arange(packing.tokens) % 2 == 1, units)
    neighbours = like(2.0 - packing.first - packing.last, units)
    units = xp.where(turned, -units, units + coupling * neighbours)
    # A tie must keep y, hence prune z.
    return xp.astype(_attracted(units, -coupling, packing, xp.astype(turned, xp.float64)) ^ turned, xp.uint8)


def _attracted(units: Array, coupling: Array, packing: Packing, reluctance: Array) -> Array:
    """Best labels, bool [T], for fields and a coupling >= 0 in units; `reluctance` [T] 1 prunes on a tie, 0 keeps."""
    xp = namespace_of(units)
    zero, last = xp.zeros_like(units), like(packing.last, units)
    ends = xp.stack([zero, xp.where(last, zero, coupling)])
    ahead = units - reluctance + scan(ClampMaps(xp, ends, units + coupling), zero[:1])
    certain, follows = ahead >= 0, (ahead >= -coupling) & ~last
    after = scan(LabelMaps(xp, xp.flip(certain), xp.flip(follows)), certain[:1] & False)
    return certain | (follows & xp.flip(after))
