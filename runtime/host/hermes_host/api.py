"""What goes wrong between an adapter and the API that its SDK calls, in one line for whoever called the tool."""

import contextlib

from . import credential
from .tool import Failure, said

# How long an API may be silent, in seconds. Some SDKs would wait for ever.
TIMEOUT = float(credential.setting("HERMES_BACKEND_API_TIMEOUT", 60))


class API:
    """An API by the name that people know it by, and the variables of its key and of its address."""

    def __init__(self, name, backend, key=None, address=None):
        self.name = name
        self._backend = backend
        self._key = key
        self._address = address

    def key(self):
        return credential.take(self._key, self._backend)

    def address(self, default=None):
        return credential.setting(self._address, default) if self._address else default

    @contextlib.contextmanager
    def errors(self):
        """Turns what an SDK raises inside into a Failure, as far as it is known what it means."""
        try:
            yield
        except Failure:
            raise
        except Exception as error:
            known = self._explain(error)
            if known is None:
                raise
            raise Failure(known) from error

    def _explain(self, error):
        """SDKs wrap errors of their libraries, and their own mistakes hide them: the first that says something counts."""
        causes = list(_causes(error))
        for cause in causes:
            response = getattr(cause, "response", None)
            status = _number(cause, "status_code", "status") or _number(response, "status_code", "status")
            if status and status >= 400:
                headers = getattr(response, "headers", None) or getattr(cause, "headers", None) or {}
                retry_after = {name.lower(): value for name, value in headers.items()}.get("retry-after")
                return self._refused(status, retry_after, cause)
        kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
        failed = any(map(_of_the_system, causes))  # which some libraries call a timeout, whatever it is
        if not failed and any("Timeout" in kind for kind in kinds):
            return f"{self.name} has not answered within {TIMEOUT:g} s: try again later"
        if failed or any(kind.endswith(_UNREACHABLE) for kind in kinds):
            return self.unreachable(causes[-1])
        if "JSONDecodeError" in kinds:  # somebody else has answered, like the page of a hotel's network
            return self._elsewhere(f"understand {self.name}", "the answer is no JSON")
        return None

    def unreachable(self, error):
        return self._elsewhere(f"reach {self.name}", _line(error))

    def _elsewhere(self, what, why):
        """Something that lies between here and the API."""
        where = self.address()
        at = f" at {where}" if where else ""
        check = f"the network and {self._address}" if where else "the network"
        return f"cannot {what}{at}: {why}; check {check}"

    def _refused(self, status, retry_after, error):
        """What an answer with this status means."""
        if status == 401 and self._key:
            return f"{self.name} refuses the key: check {self._key}"
        if status == 402:
            return f"{self.name} wants to be paid: the account has nothing left"
        if status == 429:
            seconds = str(retry_after or "")
            when = f"in {seconds} s" if seconds.isdigit() and len(seconds) < 6 else "later"
            return f"{self.name} was asked too often: try again {when}"
        if status >= 500:
            return f"{self.name} has failed with status {status}: try again later"
        return f"{self.name} refuses the request with status {status}: {_line(error)}"


# How the names of errors end, in the libraries that SDKs use, that mean that no answer came.
_UNREACHABLE = ("ConnectionError", "ConnectError", "NetworkError", "ProtocolError", "ClientConnectionResetError")


def _of_the_system(error):
    """Whether the system itself has said that there is no way: no name, no route, nobody there."""
    ours = type(error).__module__ in ("builtins", "socket")
    return ours and isinstance(error, OSError) and not isinstance(error, TimeoutError)


def _causes(error):
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inside = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        error = error.__cause__ or error.__context__ or inside


def _number(thing, *names):
    return next((value for value in (getattr(thing, name, None) for name in names) if isinstance(value, int)), None)


def _line(error):
    return " ".join(credential.hide(said(error)).split())[:200] or type(error).__name__
