"""Prints what a Python runtime has, as JSON: the core that add-ons may only add to.

Run with the runtime's own interpreter and -I, when a sealed runtime is built and, once, for a plain virtual
environment. The fields are those of sealed.Description.
"""

import importlib.machinery
import importlib.metadata
import json
import os
import pkgutil
import platform
import re
import sys
import sysconfig


def entries():
    """The directories of the path: those of the standard library, and the others."""
    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    stdlib.update(entry for entry in sys.path if os.path.basename(entry) == "lib-dynload")
    rest = [entry for entry in sys.path if os.path.isdir(entry) and entry not in stdlib]
    return sorted(stdlib), rest


def names(directories):
    """The modules and packages in directories, and apart from them those directories that are namespace packages."""
    found = {module.name for module in pkgutil.iter_modules(directories)}
    namespaces = set()
    for directory in directories:
        for entry in os.scandir(directory):
            importable = entry.name.isidentifier() and entry.name != "__pycache__" and entry.name not in found
            if importable and entry.is_dir() and has_modules(entry.path):
                namespaces.add(entry.name)
    return found, namespaces


def has_modules(directory):
    suffixes = tuple(importlib.machinery.all_suffixes())
    return any(name.endswith(suffixes) for _, _, files in os.walk(directory) for name in files)


def normal(name):
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(directories):
    """Versions by name, and entry points; what comes first on the path counts."""
    versions, points = {}, set()
    for found in importlib.metadata.distributions(path=directories):
        if found.metadata["Name"] is None:
            continue
        versions.setdefault(normal(found.metadata["Name"]), found.version)
        points.update(f"{point.group}:{point.name}" for point in found.entry_points)
    return versions, points


def describe():
    stdlib, core = entries()
    standard, _ = names(stdlib)
    modules, namespaces = names(core)
    versions, points = distributions(core)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    site = sysconfig.get_path("purelib")
    return {
        "version": 1,
        "python": platform.python_version(),
        "abi": "%d.%d:%s" % (*sys.version_info[:2], suffix),
        "tag": suffix.split(".")[1],
        "site_packages": os.path.relpath(site, sys.prefix).replace(os.sep, "/"),
        "activates": os.path.exists(os.path.join(site, "hermes_addons.pth")),
        "distributions": dict(sorted(versions.items())),
        "modules": sorted(modules | namespaces),
        "namespaces": sorted(namespaces),
        "stdlib": sorted(standard | sys.stdlib_module_names | set(sys.builtin_module_names) | {"__main__"}),
        "entry_points": sorted(points),
        "scripts": sorted(os.listdir(sysconfig.get_path("scripts"))),
    }


print(json.dumps(describe(), separators=(",", ":")))
