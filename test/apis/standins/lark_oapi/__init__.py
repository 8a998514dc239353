"""Stands for lark-oapi."""

import types

from .core.exception import ObtainAccessTokenException
from .core.http import Transport


class Builder:
    """Keeps whatever it is told."""

    def __getattr__(self, name):
        return lambda value: self.__dict__.__setitem__("_" + name, value) or self

    def build(self):
        return self


class Client(Builder):
    @staticmethod
    def builder():
        return Client()

    def build(self):
        self.im = types.SimpleNamespace(v1=types.SimpleNamespace(message=self))
        return self

    def create(self, request):
        secret = {"app_id": self._app_id, "app_secret": self._app_secret}
        token = self._post("/open-apis/auth/v3/tenant_access_token/internal", secret, {})
        if token["code"] != 0:
            raise ObtainAccessTokenException(token["code"], token["msg"])
        body = request._request_body
        message = {"receive_id": body._receive_id, "msg_type": body._msg_type, "content": body._content}
        headers = {"Authorization": f"Bearer {token['tenant_access_token']}"}
        path = f"/open-apis/im/v1/messages?receive_id_type={request._receive_id_type}"
        answer = self._post(path, message, headers)
        data = types.SimpleNamespace(**answer.get("data", {}))
        return types.SimpleNamespace(success=lambda: answer["code"] == 0, code=answer["code"], msg=answer["msg"], data=data)

    def _post(self, path, body, headers):
        return Transport.execute("POST", self._domain + path, body, headers, self._timeout).json()
