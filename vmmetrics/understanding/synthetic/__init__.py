"""Suite of rendered clips with exact answers and a known lowest sufficient frame rate.

Everything decisive in a clip lasts a whole number of frames, the *dwell*; ``minFPS`` is the rate at which no two frames
shown are further apart than that. :mod:`.figures`, :mod:`.textures` and :mod:`.scenes` draw, :mod:`.questions` and
:mod:`.ways` ask, :mod:`.reader` answers from pixels alone, :mod:`.suite` puts them together, checks each against it and
writes the files.
"""

from __future__ import annotations
