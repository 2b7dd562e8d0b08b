"""The six excuses of the released code, written a second time and with nothing of the package."""

from __future__ import annotations


def _quantile(values: list[float], q: float) -> float:
    """Linear interpolation between order statistics at position q (n − 1)."""
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def reference_excuse(name, tracks, visibility, query_frame, frame_size):
    """Return whether the test called ``name`` excuses an object, frame by frame and point by point."""
    width, height = frame_size
    looked_at = [t for t in range(len(tracks)) if (t > query_frame if "vanish" in name else t < query_frame)]
    count = tracks.shape[1]
    for t in looked_at:
        hidden = [not v for v in visibility[t]]
        share = sum(hidden) / count if count else -1
        if name.endswith("detection_error"):
            if share >= (1.0 if "vanish" in name else 0.8):
                return False
        elif "edge" in name:
            out = [x < 0 or x > width or y < 0 or y > height for x, y in tracks[t]]
            if share >= (0.8 if "vanish" in name else 0.85) and sum(out) / count >= 0.5:
                return True
        else:
            inside = [(x, y) for x, y in tracks[t] if 0 < x < width and 0 < y < height]
            if len(inside) < 2 or len(inside) / count < 0.8:
                continue
            spans = [
                (_quantile([p[a] for p in inside], 0.9) - _quantile([p[a] for p in inside], 0.1)) / frame_size[a]
                for a in (0, 1)
            ]
            if max(spans) < (0.07 if "vanish" in name else 0.03):
                return True
    return name.endswith("detection_error")
