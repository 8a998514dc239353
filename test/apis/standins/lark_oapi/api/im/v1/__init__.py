class Builder:
    """Keeps whatever it is told."""

    @classmethod
    def builder(cls):
        return cls()

    def __getattr__(self, name):
        return lambda value: self.__dict__.__setitem__("_" + name, value) or self

    def build(self):
        return self


CreateMessageRequest = CreateMessageRequestBody = Builder
