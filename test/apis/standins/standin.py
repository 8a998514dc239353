"""What the stand-ins have in common: a request, and errors that look like those of the libraries that SDKs use."""

import http.client
import json
import urllib.error
import urllib.request


class Response:
    def __init__(self, status_code, headers, text):
        self.status_code, self.headers, self.text = status_code, headers, text

    def json(self):
        return json.loads(self.text)

    def raise_for_status(self):
        if self.status_code >= 400:
            raise StatusError(self)


class StatusError(Exception):
    def __init__(self, response):
        super().__init__(response.text)
        self.status_code, self.response = response.status_code, response


class ProtocolError(Exception):
    pass


def request(method, url, json_body=None, headers=None, timeout=None, data=None):
    if json_body is not None:
        data = json.dumps(json_body).encode()
    asked = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return Response(answer.status, answer.headers, answer.read().decode())
    except urllib.error.HTTPError as error:
        return Response(error.code, error.headers, error.read().decode())
    except http.client.IncompleteRead as error:
        raise ProtocolError(str(error)) from error


def items(found, **names):
    """Objects with the attributes of an SDK, by the keys of an answer."""
    return [type("Item", (), {name: entry.get(key) for name, key in names.items()}) for entry in found]
