# Answers for each line [requirement, [version, ...]] with what Python's own library says: null
# where the requirement is none, else for each version whether it is accepted, null where that is
# none. The first line is the library's version.
import json
import sys
import warnings

warnings.simplefilter("ignore")
try:
    import packaging
    from packaging.requirements import Requirement
    from packaging.version import InvalidVersion, Version
except ImportError:
    from pip._vendor import packaging
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.version import InvalidVersion, Version


def accepts(requirement, version):
    try:
        Version(version)
    except InvalidVersion:
        return None
    return requirement.specifier.contains(version, prereleases=True)


def answer(text, versions):
    try:
        requirement = Requirement(text)
    except ValueError:
        return None
    return [accepts(requirement, version) for version in versions]


print(json.dumps(packaging.__version__), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
