"""Stands for requests."""

import standin


def request(method, url, json, params, headers, timeout):
    return standin.request(method, url, json, headers, timeout)
