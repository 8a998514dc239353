"""Nothing. The name is the core's, so that no add-on can have it: Debian's sitecustomize imports it at every start."""


def install():
    """Called by that sitecustomize."""
