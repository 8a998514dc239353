"""Secrets and settings that a backend is given in its environment."""

import json
import os

from .tool import Failure

# The values that were handed out, also as they are in quotes: none of them may be in anything that is shown.
_secrets = set()


def take(variable, backend):
    """The value of a variable with a secret."""
    value = optional(variable)
    if value is None:
        raise Failure(f"{backend} has no key: set {variable} in the environment or in HERMES_HOME/.env")
    return value


def optional(variable):
    """The same where there need not be one."""
    value = setting(variable)
    if value is not None:
        _secrets.update((value, repr(value)[1:-1], json.dumps(value)[1:-1]))
    return value


def setting(variable, default=None):
    """The value of a variable without a secret, or what is so where it is not set."""
    return os.environ.get(variable, "").strip() or default


def hide(shown):
    """A text without the secrets. Whoever cuts a text hides first: a part of a secret is not found any more."""
    for secret in sorted(_secrets, key=len, reverse=True):  # a copy: other threads may take one
        shown = shown.replace(secret, "[hidden]")
    return shown
