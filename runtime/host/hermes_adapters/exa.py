"""search.exa, by the SDK exa-py."""

import functools

from hermes_host import api, web

BACKEND = "search.exa"
EXA = api.API("Exa", BACKEND, key="EXA_API_KEY", address="EXA_BASE_URL")


def load():
    global Client
    import exa_py
    import requests

    class Client(exa_py.Exa):
        def request(self, endpoint, data=None, method="POST", params=None, headers=None):
            """The SDK's own waits for ever, and forgets the status of what it was answered."""
            answer = requests.request(
                method,
                self.base_url + endpoint,
                json=data,
                params=params,
                headers=self.headers | (headers or {}),
                timeout=api.TIMEOUT,
            )
            answer.raise_for_status()
            return answer.json()


@functools.cache
def client():
    return Client(EXA.key(), EXA.address("https://api.exa.ai"))


def search(query, limit):
    with EXA.errors():
        found = client().search(query, num_results=limit, contents={"highlights": True})
    for item in found.results:
        yield web.result(item.title, item.url, " … ".join(item.highlights or []), item.published_date)


def extract(urls):
    with EXA.errors():
        found = client().get_contents(urls, text=True)
    for item in found.results:
        yield web.page(item.url, item.title, item.text)
    for status in found.statuses or []:
        if status.status != "success":
            yield web.page(status.id, "", "", "Exa could not read it")


TOOLS = web.tools(BACKEND, search, extract)
