"""platform.feishu, by the SDK lark-oapi."""

import functools
import importlib.util
import json
import sys
import urllib.parse

from hermes_host import api, credential
from hermes_host.tool import Failure, Tool

BACKEND = "platform.feishu"
FEISHU = api.API("Feishu", BACKEND, key="FEISHU_APP_SECRET", address="FEISHU_DOMAIN")
DOMAINS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}


class Refused(Exception):
    """An answer without the JSON that the SDK would look for in it."""

    def __init__(self, response):
        super().__init__(f"status {response.status_code}")
        self.status_code, self.headers = response.status_code, response.headers


def load():
    global im, Config, Message, ObtainAccessTokenException
    # Importing the SDK as it is means sixty APIs in ten thousand modules: ten seconds and more.
    hollow("lark_oapi")
    hollow("lark_oapi.api")
    from lark_oapi.api.im import v1 as im
    from lark_oapi.api.im.v1.resource.message import Message
    from lark_oapi.core.exception import ObtainAccessTokenException
    from lark_oapi.core.http import Transport
    from lark_oapi.core.model import Config

    execute = Transport.execute

    def checked(*args, **kwargs):
        response = execute(*args, **kwargs)
        if response.status_code in (401, 403, 429) or response.status_code >= 500:
            raise Refused(response)
        return response

    Transport.execute = staticmethod(checked)


def hollow(package):
    """Imports a package without running its own code; its modules can be imported then."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)
    spec.loader = None
    sys.modules[package] = importlib.util.module_from_spec(spec)


@functools.cache
def messages():
    config = Config()
    config.app_id = credential.setting("FEISHU_APP_ID")
    if not config.app_id:
        raise Failure(f"{BACKEND} has no app: set FEISHU_APP_ID in the environment or in HERMES_HOME/.env")
    config.app_secret = FEISHU.key()
    domain = FEISHU.address("feishu")
    config.domain = DOMAINS.get(domain, domain)
    config.timeout = api.TIMEOUT
    where = urllib.parse.urlsplit(config.domain)
    if where.scheme != "https" and where.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise Failure("FEISHU_DOMAIN must be feishu, lark or an address with https: the app's secret is sent there")
    return Message(config)


def send_message(receive_id, text, receive_id_type="chat_id"):
    body = im.CreateMessageRequestBody.builder().receive_id(receive_id).msg_type("text")
    body = body.content(json.dumps({"text": text}, ensure_ascii=False)).build()
    request = im.CreateMessageRequest.builder().receive_id_type(receive_id_type).request_body(body).build()
    try:
        with FEISHU.errors():
            answer = messages().create(request)
    except ObtainAccessTokenException as error:
        wrong = f"code {error.code}: {error.msg}"
        raise Failure(f"Feishu refuses the app ({wrong}): check FEISHU_APP_ID and FEISHU_APP_SECRET") from error
    if not answer.success():
        raise Failure(f"Feishu has not sent the message (code {answer.code}: {answer.msg})")
    return {"message_id": answer.data.message_id, "chat_id": answer.data.chat_id or "", "backend": BACKEND}


TOOLS = [
    Tool(
        send_message,
        "send_message",
        "Sends a text message to a chat or a person on Feishu or Lark.",
        {
            "receive_id": {"type": "string", "minLength": 1, "description": "who gets it"},
            "text": {"type": "string", "minLength": 1, "maxLength": 100_000},
            "receive_id_type": {
                "type": "string",
                "enum": ["chat_id", "open_id", "user_id", "union_id", "email"],
                "default": "chat_id",
                "description": "what kind of id it is",
            },
        },
        ["receive_id", "text"],
        {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("message_id", "chat_id", "backend")},
            "required": ["message_id", "chat_id", "backend"],
        },
    )
]
