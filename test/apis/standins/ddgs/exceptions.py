class DDGSException(Exception):
    pass
