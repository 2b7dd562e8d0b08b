"""The published models in torch (extra ``vmbench``)."""

from vmmetrics.errors import SetupError, install

try:
    import torch as _torch  # noqa: F401 - asked for once here, so that the modules below need not
except ModuleNotFoundError as error:
    raise SetupError(
        f"{error.name} is missing; install it with: {install('vmbench')}, or with [cas] for CAS alone"
    ) from error
