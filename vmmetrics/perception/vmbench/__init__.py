"""The published models in torch (``pip install 'vmmetrics[vmbench]'``)."""

from vmmetrics.errors import SetupError

try:
    import torch as _torch  # noqa: F401 - asked for once here, so that the modules below need not
except ModuleNotFoundError as error:
    raise SetupError(
        f"{error.name} is missing; install it with: pip install 'vmmetrics[vmbench]', or 'vmmetrics[cas]' for CAS alone"
    ) from error
