import types

from lark_oapi.core.exception import ObtainAccessTokenException
from lark_oapi.core.http import Transport


class Message:
    def __init__(self, config):
        self.config = config

    def create(self, request):
        secret = {"app_id": self.config.app_id, "app_secret": self.config.app_secret}
        token = self._post("/open-apis/auth/v3/tenant_access_token/internal", secret, {})
        if token["code"] != 0:
            raise ObtainAccessTokenException(token["code"], token["msg"])
        body = request._request_body
        message = {"receive_id": body._receive_id, "msg_type": body._msg_type, "content": body._content}
        headers = {"Authorization": f"Bearer {token['tenant_access_token']}"}
        path = f"/open-apis/im/v1/messages?receive_id_type={request._receive_id_type}"
        answer = self._post(path, message, headers)
        data = types.SimpleNamespace(**answer.get("data", {}))
        success = lambda: answer["code"] == 0
        return types.SimpleNamespace(success=success, code=answer["code"], msg=answer["msg"], data=data)

    def _post(self, path, body, headers):
        return Transport.execute("POST", self.config.domain + path, body, headers, self.config.timeout).json()
