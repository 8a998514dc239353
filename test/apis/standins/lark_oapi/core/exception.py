class ObtainAccessTokenException(Exception):
    def __init__(self, code, msg):
        self.code, self.msg = code, msg
