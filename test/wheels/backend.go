package wheels

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is what a lock has for it, "sha256:…".
func (s Source) Hash() string {
	sum := sha256.Sum256(s.Bytes())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Backend stands in for setuptools: it runs a source's setup.py, and packs the dictionary FILES that it leaves, by
// path, with the name and version of PKG-INFO.
func Backend() Wheel {
	return Wheel{Name: "setuptools", Version: "80.0", Files: map[string]string{"setuptools/__init__.py": "", "setuptools/build_meta.py": backend}}
}

const backend = `import base64, hashlib, os, runpy, sys, zipfile


def build_wheel(directory, config_settings=None, metadata_directory=None):
    files = dict(runpy.run_path("setup.py").get("FILES", {}))
    info = open("PKG-INFO").read()
    name, version = (line.split(": ")[1] for line in info.splitlines() if line.startswith(("Name", "Version")))
    stem = f"{name.replace('-', '_')}-{version}"
    files[f"{stem}.dist-info/METADATA"] = info
    files[f"{stem}.dist-info/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(text.encode())}\n"
    files[f"{stem}.dist-info/RECORD"] = record + f"{stem}.dist-info/RECORD,,\n"
    wheel = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


__legacy__ = sys.modules[__name__]
`
