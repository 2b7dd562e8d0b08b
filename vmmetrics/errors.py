"""The kinds of trouble a user can meet, told apart so that each ends in the right action."""


class VMMetricsError(Exception):
    """Base of every error this package raises on purpose; its text is written for the user."""


class ClipError(VMMetricsError):
    """This clip cannot be read or scored; the others can. Becomes the clip's error record."""


class SetupError(VMMetricsError):
    """Something outside the clip must be mended first: a missing extra, weight file or setting."""
