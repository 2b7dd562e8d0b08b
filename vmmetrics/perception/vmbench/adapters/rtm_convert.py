"""Make an ``.onnx`` file of a model zoo checkpoint, with the raw outputs that :mod:`.rtm` needs.

    python -m vmmetrics.perception.vmbench.adapters.rtm_convert CHECKPOINT.pth OUT.onnx

Which of the two networks a checkpoint holds is told by its weights. Needs the package ``onnx``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import torch
from torch import nn

from vmmetrics.errors import VMMetricsError
from vmmetrics.perception.vmbench.adapters.rtm import DETECTOR_OUTPUTS, DETECTOR_SIDE, POSE_OUTPUTS
from vmmetrics.perception.vmbench.checkpoints import read_weights
from vmmetrics.perception.vmbench.ported.rtm_networks import (
    MEDIUM,
    POSE_INPUT,
    RTMDET_NAME,
    RTMPOSE_NAME,
    RTMDet,
    RTMPose,
    RTMSize,
    load_rtm,
)
from vmmetrics.perception.vmbench.runtime import needed

OPSET = 17
"""The newest that both the exporter and ONNX Runtime since 1.13 know."""


def convert(checkpoint: Path, target: Path, size: RTMSize = MEDIUM) -> None:
    """Write ``target``, for batches of any size.

    Raises:
        SetupError: ``onnx`` is not installed, or the checkpoint is of neither network.
    """
    weights = read_weights(checkpoint, "state_dict", f"{RTMDET_NAME} {RTMPOSE_NAME}")
    detector = any(name.startswith("bbox_head.") for name in weights)
    network: nn.Module = load_rtm(checkpoint, RTMDet(size) if detector else RTMPose(size))
    width, height = (DETECTOR_SIDE, DETECTOR_SIDE) if detector else POSE_INPUT
    outputs = DETECTOR_OUTPUTS if detector else POSE_OUTPUTS
    with needed("onnx"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the exporter that needs no further package
        torch.onnx.export(
            network,
            (torch.zeros(2, 3, height, width),),
            str(target),
            input_names=["input"],
            output_names=list(outputs),
            dynamic_axes={name: {0: "batch"} for name in ("input", *outputs)},
            opset_version=OPSET,
            dynamo=False,
        )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m vmmetrics.perception.vmbench.adapters.rtm_convert", description=__doc__
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    try:
        convert(arguments.checkpoint, arguments.target)
    except VMMetricsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
