"""Nothing. The name is the core's, so that no add-on can have it: Python imports it at every start."""
