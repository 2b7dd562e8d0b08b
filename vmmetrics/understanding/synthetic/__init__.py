"""A suite of clips rendered by us, whose answers are exact and whose lowest sufficient frame rate is known.

Everything decisive in a clip lasts a whole number of frames, the *dwell*; ``minFPS`` is the rate at which no two frames
shown are further apart than that. :mod:`.scenes` draws, the ``ask_*`` modules make questions, :mod:`.oracle` answers
them from pixels alone, :mod:`.suite` puts them together and checks each against the oracle, :mod:`.files` writes them.
"""

from __future__ import annotations
