"""What a tool is: a function with a description and schemas, and the check of what it is called with."""

import json


class Failure(Exception):
    """What a tool could not do, in one line for whoever called it. It is expected: no traceback is shown of it."""


def said(error):
    """The text of an error, also of one that has none."""
    try:
        return str(error)
    except Exception:
        return ""


class Tool:
    """A function that callers may call by a name.

    It is called with the arguments by their names, and returns a dict, which has the form of the output schema, or a
    list of content blocks of the protocol.
    """

    def __init__(self, function, name, description, properties, required, output=None):
        self.function = function
        self.name = name
        self.description = description
        self.input = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        self.output = output

    def listed(self):
        """The tool as tools/list shows it."""
        shown = {"name": self.name, "description": self.description, "inputSchema": self.input}
        return shown | {"outputSchema": self.output} if self.output else shown

    def call(self, arguments):
        """Calls the function, and returns the result of tools/call."""
        wrong = mismatch(arguments, self.input, "the arguments")
        if wrong:
            raise Failure(f"cannot call {self.name}: {wrong}")
        answer = self.function(**arguments)
        if isinstance(answer, list):
            return {"content": answer}
        # Clients of before structured results read the same as text.
        return {"content": [text(json.dumps(answer, ensure_ascii=False))], "structuredContent": answer}


def text(content):
    """A content block of text."""
    return {"type": "text", "text": content}


_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
_NAMES = {"object": "an object", "array": "a list", "string": "a text", "integer": "a whole number",
          "number": "a number", "boolean": "true or false"}  # fmt: skip


def mismatch(value, schema, name):
    """Says in which way a value is not what its schema wants, as far as schemas of tools go; None if it is right."""
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) and kind != "boolean":
        return f"{name} must be {_NAMES[kind]}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} must be one of {', '.join(schema['enum'])}"
    if kind in ("integer", "number"):
        return _outside(value, name, schema.get("minimum"), schema.get("maximum"), "")
    if kind == "string":
        return _outside(len(value), name, schema.get("minLength"), schema.get("maxLength"), " characters")
    if kind == "array":
        wrong = _outside(len(value), name, schema.get("minItems"), schema.get("maxItems"), " entries")
        inside = (mismatch(entry, schema["items"], f"entry {i} of {name}") for i, entry in enumerate(value, 1))
        return wrong or next(filter(None, inside), None)
    if kind == "object":
        return _wrong_member(value, schema)
    return None


def _outside(size, name, least, most, unit):
    if least is not None and size < least:
        return f"{name} must have at least {least}{unit}" if unit else f"{name} must be at least {least}"
    if most is not None and size > most:
        return f"{name} must have at most {most}{unit}" if unit else f"{name} must be at most {most}"
    return None


def _wrong_member(value, schema):
    known = schema["properties"]
    for name in schema["required"]:
        if name not in value:
            return f'"{name}" is missing'
    for name, member in value.items():
        if name not in known:
            return f'there is no "{name}"; it takes {", ".join(known)}'
        wrong = mismatch(member, known[name], f'"{name}"')
        if wrong:
            return wrong
    return None
