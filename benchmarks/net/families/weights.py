"""Published weights without a network, and what the doctor says."""

from __future__ import annotations

from benchmarks.net.case import cases_of
from benchmarks.net.inputs import text

CASES = [
    *cases_of("weights", {
        "list": ((), ["weights list", "weights list vmbench videoreward", "weights list nonsense"]),
        "path": ((), ["weights path", "weights path one-align", "weights path nonsense"]),
        "verify": ((), ["weights verify", "weights verify one-align"]),
        "fetch": ((text("copies/one-align/config.json", "{}"), text("copies/rtmpose.pth", "x")), [
            "weights fetch one-align --offline", "weights fetch vmbench --offline --accept-licence",
            "weights fetch cotracker3-offline --offline", "weights fetch one-align --from-folder in/copies",
            "weights fetch nonsense", "weights fetch rtmpose-m-body7 --from-folder in/nowhere",
        ]),
        "doctor": ((), ["doctor"]),
    }),
]  # fmt: skip
