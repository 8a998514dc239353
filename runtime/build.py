"""Builds the sealed Python runtime: build.py DIRECTORY [OPTION OF PIP …]

A virtual environment on the interpreter that runs this, with the wheels of a lock file, the activation of add-ons, the
host of their processes, a description of itself and the locks of the features; nothing in it can be written. It is
built beside DIRECTORY and takes its place in one step, so a kill leaves the old one or the new one. Nothing is done
when DIRECTORY was made from the same inputs. RUNTIME_LOCK is another lock file than core.txt.
"""

import base64
import csv
import ctypes
import fcntl
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
LOCK = pathlib.Path(os.environ.get("RUNTIME_LOCK") or HERE / "core.txt").resolve()
DESCRIPTION = "hermes-runtime.json"


class Environment(venv.EnvBuilder):
    """A virtual environment that nobody can enter by a shell script: those would name the directory it is built in."""

    def setup_scripts(self, context):
        pass


def inputs(final):
    """A digest of all that the runtime is made of."""
    digest = hashlib.sha256()
    sources = [*HERE.glob("*.py"), *(HERE / "activation").glob("*.p*"), *(HERE / "host").rglob("*.py")]
    sources += (path for path in (HERE / "locks").rglob("*") if path.is_file())
    named = {str(path.relative_to(HERE)): path for path in sorted(sources)} | {"lock": LOCK}
    for name, path in named.items():
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(f"{final}\n{os.path.realpath(sys.executable)}\n{sys.version}".encode())
    return digest.hexdigest()


def check_version():
    """A lock that says which Python it was resolved for fits no other."""
    locked = re.match(r"# CPython (\d+\.\d+)\.", LOCK.read_text())
    ours = "%d.%d" % sys.version_info[:2]
    if locked and locked[1] != ours:
        wrong = f"{LOCK.name} is for Python {locked[1]}, and {sys.executable} is {ours}"
        sys.exit(f"cannot build the runtime: {wrong}; set PYTHON to another one")


def check_place(final):
    """What is in the way is removed; it must be a runtime."""
    empty = not final.exists() or final.is_dir() and not any(final.iterdir())
    if final.is_symlink() or not empty and built_from(final) is None:
        sys.exit(f"cannot build the runtime: {final} is there and is no runtime; name another directory")


def built_from(directory):
    try:
        return json.loads((directory / DESCRIPTION).read_bytes())["inputs"]
    except (OSError, ValueError, KeyError):
        return None


def run(*command, stdout=None):
    """Runs a program without what would lead Python or pip elsewhere; what else is set for pip is the operator's."""
    astray = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "VIRTUAL_ENV"}
    environment = {k: v for k, v in os.environ.items() if k not in astray and not k.startswith("PYTHON")}
    environment["HERMES_LAZY_INSTALL_TARGET"] = os.devnull  # add-ons of whoever builds are none of the core's
    # With our lock, so that a build after us waits for what runs on when we are killed.
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, close_fds=False)
    if done.returncode != 0:
        sys.exit(f"cannot build the runtime: {' '.join(command[1:4])} has failed, see above")
    return done.stdout


def install(python, options):
    """Installs the wheels of the lock with this machine's pip, else with the one that Python brings along."""
    with tempfile.TemporaryDirectory() as directory:
        pip = sys.executable
        if importlib.util.find_spec("pip") is None:
            if importlib.util.find_spec("ensurepip") is None:
                sys.exit("cannot build the runtime: this Python has no pip; install the package python3-venv")
            venv.create(directory, with_pip=True)
            pip = os.path.join(directory, "bin", "python3")
        run(pip, "-I", "-m", "pip", "--python", python, "--disable-pip-version-check", "--no-input", "install", "--quiet",
            "--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--no-warn-script-location",
            "--root-user-action", "ignore", *options, "-r", str(LOCK))  # fmt: skip


def move_scripts(staged, site, final):
    """Lets scripts and pyvenv.cfg name the directory that they will be in, and the records the scripts as they are."""
    config = staged / "pyvenv.cfg"
    config.write_text(config.read_text().replace(str(staged), str(final)))
    for script in (staged / "bin").iterdir():
        if script.is_symlink() or script.read_bytes()[:2] != b"#!":
            continue
        script.write_bytes(script.read_bytes().replace(os.fsencode(staged), os.fsencode(final)))
    for record in site.glob("*.dist-info/RECORD"):
        rows = list(csv.reader(record.read_text().splitlines()))
        for row in rows:
            path = (site / row[0]).resolve()
            if row[1] and path.parent == staged / "bin":
                content = path.read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                row[1:] = ["sha256=" + digest, len(content)]
        with record.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def build(staged, final, options):
    Environment(symlinks=True).create(staged)
    python = str(staged / "bin" / "python3")
    site = staged / "lib" / ("python%d.%d" % sys.version_info[:2]) / "site-packages"
    if re.search(r"^\w", LOCK.read_text(), re.MULTILINE):
        install(python, options)
    move_scripts(staged, site, final)
    for file in (*site.glob("*.pth"), *site.glob("*.start")):
        sys.exit(f"cannot seal the runtime: {file.name} runs code at every start; take its package out of {LOCK.name}")
    for file in (HERE / "activation").iterdir():
        if file.suffix in (".py", ".pth"):
            shutil.copyfile(file, site / file.name)
    for package in (HERE / "host").iterdir():
        shutil.copytree(package, site / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    if (HERE / "locks").is_dir():
        shutil.copytree(HERE / "locks", staged / "locks")
    # Checked against nothing at run time, as nothing can change: neither times nor directories are in the result. For
    # all levels of optimisation, so that a start as root, whom no mode stops, writes none of them either.
    run(python, "-I", "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash",
        "-o", "0", "-o", "1", "-o", "2", "--hardlink-dupes", "-s", str(staged), "-p", str(final), str(site))  # fmt: skip
    text = run(python, "-I", str(HERE / "describe.py"), stdout=subprocess.PIPE)
    description = json.loads(text) | {"inputs": inputs(final)}
    (staged / DESCRIPTION).write_text(json.dumps(description, separators=(",", ":")) + "\n")
    seal(staged)


def seal(tree):
    """Takes every right to write away; who builds as root has made all of it root's."""
    for directory, _, files in os.walk(tree):
        for path in (os.path.join(directory, name) for name in files):
            if not os.path.islink(path):
                os.chmod(path, 0o555 if os.stat(path).st_mode & 0o100 else 0o444)
        os.chmod(directory, 0o555)


def remove(tree):
    if tree.is_dir():
        for directory, _, _ in os.walk(tree):
            os.chmod(directory, 0o700)
        shutil.rmtree(tree)


def publish(staged, final):
    """Puts the new runtime in the place of the old one, which has the staged one's afterwards."""
    if not final.exists():
        os.rename(staged, final)
        return
    exchange = 2
    here = -100
    if ctypes.CDLL(None).renameat2(here, os.fsencode(staged), here, os.fsencode(final), exchange) != 0:
        old = staged.with_suffix(".old")  # a file system that cannot exchange
        os.rename(final, old)
        os.rename(staged, final)
        os.rename(old, staged)


def main(directory, *options):
    os.umask(0o022)
    given = pathlib.Path(os.path.abspath(directory))
    given.parent.mkdir(parents=True, exist_ok=True)
    final = given.parent.resolve() / given.name
    staged = final.with_name(final.name + ".staged")
    alone = os.open(final.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(alone, True)
    fcntl.flock(alone, fcntl.LOCK_EX)
    check_place(final)
    remove(staged)
    if built_from(final) == inputs(final):
        return
    check_version()
    print(f"building {final}", flush=True)
    try:
        build(staged, final, options)
        publish(staged, final)
    finally:
        remove(staged)


if __name__ == "__main__":
    main(*sys.argv[1:])
