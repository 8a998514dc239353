"""Appends the add-ons of this interpreter to its search path.

The one line of hermes_addons.pth imports this at every start of the sealed interpreter, with -I and -E too, but not
with -S. It imports only what is there at start-up anyway, prints nothing, and whatever goes wrong, the process
starts, without add-ons.

The store is trusted as far as its owner: a directory that is a link, that belongs to somebody else than root or this
user, or that others can write, is not used. So root never runs what another user has installed. A group may write
that an orchestrator made for the volume, and that nobody else is in.
"""

import _imp
import os
import sys

_VARIABLE = "HERMES_ADDON_GENERATION"
_HEX = frozenset("0123456789abcdef")

# How often a generation is looked for that garbage collection takes away meanwhile: each time somebody has
# published another one, so the second look finds it.
_LOOKS = 10

# The readers' lock, open for the life of the process: garbage collection leaves the generation alone so long.
_lock = None


def _target():
    """The store's directory, found as the hermes command finds it; the last part of the path is not resolved."""

    def get(name):
        return os.environ.get(name, "").strip()

    path = get("HERMES_LAZY_INSTALL_TARGET") or (get("HERMES_HOME") or "~/.hermes") + "/lazy-packages"
    if path == "~" or path.startswith("~/"):
        if not get("HOME"):
            raise FileNotFoundError("HOME is not set")
        path = get("HOME") + path[1:]
    parent, name = os.path.split(os.path.abspath(path))
    parent = os.path.realpath(parent)
    _pass(parent)
    return os.path.join(parent, name)


def _pass(path):
    """Refuses a directory in which somebody else could put another thing in the place of the store, now or later."""
    while True:
        found = os.stat(path)
        sticky = found.st_mode & 0o1000
        if found.st_uid not in (0, os.geteuid()) or not sticky and not _only_ours(path, found):
            raise PermissionError(path)
        if path == "/":
            return
        path = os.path.dirname(path)


def _only_ours(directory, found):
    """Whether the mode lets nobody but root and this user write: as the store's own check, in group_linux.go."""
    if not found.st_mode & 0o022:
        return True
    if found.st_mode & 0o002 or not found.st_mode & 0o2000:
        return False
    import errno

    try:
        os.getxattr(directory, "system.posix_acl_access")
        return False
    except OSError as e:
        if e.errno not in (errno.ENODATA, errno.ENOTSUP):
            return False
    return _alone(found.st_gid)


def _alone(gid):
    """Whether this user is in the group and otherwise nobody but root, by files, where nothing else is asked."""
    if gid == 0 or gid != os.getegid() and gid not in os.getgroups():
        return False
    try:
        for line in _lines("/etc/nsswitch.conf"):
            database, _, sources = line.partition("#")[0].partition(":")
            if database.strip() in ("passwd", "group", "initgroups") and not {"files", "systemd"}.issuperset(sources.split()):
                return False
    except FileNotFoundError:
        pass
    users = [fields for fields in (line.split(":") for line in _lines("/etc/passwd")) if len(fields) > 3]
    inside = {fields[0] for fields in users if fields[3] == str(gid)}
    for fields in (line.split(":") for line in _lines("/etc/group")):
        if len(fields) > 3 and fields[2] == str(gid):
            inside.update(name for name in fields[3].split(",") if name)
    ours = {fields[0] for fields in users if fields[2] in ("0", str(os.geteuid()))}
    return inside <= ours


def _lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


class _Opened(list):
    """Descriptors of directories, closed at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for fd in self:
            os.close(fd)

    def enter(self, parent, name):
        """Opens a directory that is no link and that nobody but root and this user can change."""
        fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        self.append(fd)
        found = os.fstat(fd)
        if found.st_uid not in (0, os.geteuid()) or not _only_ours(fd, found):
            raise PermissionError(name)
        return fd


def _is_digest(name):
    return len(name) == 64 and _HEX.issuperset(name)


def _current(abi):
    """The digest that the link of this ABI points to."""
    directory, _, digest = os.readlink("current", dir_fd=abi).partition("/")
    if directory != "generations" or not _is_digest(digest):
        raise FileNotFoundError(digest)
    return digest


def _hold(generations, digest):
    """Takes the readers' lock of a generation; None if it is being removed."""
    import fcntl

    with _Opened() as opened:
        generation = opened.enter(generations, digest)
        opened.enter(generation, "site-packages")
        lock = os.open("lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=generation)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except OSError:
            pass  # a file system without locks: there nothing can be locked for removal either
        try:
            if os.path.samestat(os.fstat(generation), os.stat(digest, dir_fd=generations, follow_symlinks=False)):
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)  # it was moved away before we had the lock
        return None


def _find(target, tag):
    """Finds the generation to use, the parent's before the current one: its digest, and its lock."""
    with _Opened() as opened:
        store = opened.enter(None, target)
        abi = opened.enter(opened.enter(store, ".hermes"), tag)
        generations = opened.enter(abi, "generations")
        inherited = os.environ.get(_VARIABLE, "")
        if _is_digest(inherited):
            try:
                lock = _hold(generations, inherited)
                if lock is not None:
                    return inherited, lock
            except OSError:
                pass  # of another ABI, or gone
        for _ in range(_LOOKS):
            digest = _current(abi)
            try:
                lock = _hold(generations, digest)
            except FileNotFoundError:
                continue
            if lock is not None:
                return digest, lock
    raise FileNotFoundError(target)


def _guard(target):
    """Lets no directory of the store answer for a name that the core has, wherever it stands on the path.

    The order of the path does not suffice: a package of the store would win over a namespace package of the core,
    or become a part of it, and a script or a working directory in the store stands first on the path. What is
    published is checked for all of this, but perhaps against an earlier core.
    """
    import _frozen_importlib_external as machinery

    core = [os.path.dirname(__file__)]

    class AddonLoader(machinery.SourceFileLoader):
        def set_data(self, *_, **__):
            """Writes no byte code: a generation stays as it was published, and no mode would stop root."""

    loaders = [
        (AddonLoader if loader is machinery.SourceFileLoader else loader, suffixes)
        for loader, suffixes in machinery._get_supported_file_loaders()
    ]

    class AddonFinder(machinery.FileFinder):
        def find_spec(self, fullname, target=None):
            if "." not in fullname and (
                fullname in sys.stdlib_module_names or machinery.PathFinder.find_spec(fullname, core) is not None
            ):
                return None
            return super().find_spec(fullname, target)

    def hook(path):
        if path != target and not path.startswith(target + "/") or not os.path.isdir(path):
            raise ImportError(path)
        return AddonFinder(path, *loaders)

    sys.path_hooks.insert(0, hook)


def _activate():
    global _lock
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return  # the environment is somebody else's
    target = _target()
    tag = _imp.extension_suffixes()[0].split(".")[1]
    digest, lock = _find(target, tag)
    path = f"{target}/.hermes/{tag}/generations/{digest}/site-packages"
    _guard(target)
    sys.path_importer_cache.pop(path, None)
    sys.path[:] = [entry for entry in sys.path if entry != path] + [path]
    os.environ[_VARIABLE] = digest
    _lock = lock


try:
    _activate()
except Exception:
    pass
