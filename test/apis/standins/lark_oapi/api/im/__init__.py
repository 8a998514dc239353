import types

from lark_oapi import Builder

v1 = types.SimpleNamespace(
    CreateMessageRequest=types.SimpleNamespace(builder=Builder),
    CreateMessageRequestBody=types.SimpleNamespace(builder=Builder),
)
