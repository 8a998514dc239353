"""search.ddgs, by the package ddgs, which asks public search engines as a browser would."""

from hermes_host import api, credential, web
from hermes_host.tool import Failure

BACKEND = "search.ddgs"
# A server that answers as html.duckduckgo.com does; only that one is asked then.
ENGINES = api.API("the search engines", BACKEND, address="DDGS_BASE_URL")
PAGE = api.API("the page", BACKEND)


class Refused(Exception):
    """An answer of a search engine that is no page of results."""

    def __init__(self, response):
        super().__init__(f"status {response.status_code}")
        self.status_code = response.status_code


def load():
    global sdk, DDGSException
    import ddgs.ddgs as sdk
    from ddgs.base import BaseSearchEngine
    from ddgs.exceptions import DDGSException

    def request(self, *args, **kwargs):
        """The package's own takes a refusal for a page without results."""
        response = self.http_client.request(*args, **kwargs)
        if response.status_code != 200:
            raise Refused(response)
        return response.text

    BaseSearchEngine.request = request
    if ENGINES.address():
        sdk.ENGINES["text"]["duckduckgo"].search_url = ENGINES.address().rstrip("/") + "/html/"


def client():
    return sdk.DDGS(proxy=credential.optional("DDGS_PROXY"), timeout=max(1, int(api.TIMEOUT)))


def search(query, limit):
    backend = "duckduckgo" if ENGINES.address() else "auto"
    try:
        with ENGINES.errors():
            found = client().text(query, max_results=limit, backend=backend)
    except DDGSException as error:
        if str(error) != "No results found.":
            raise Failure(ENGINES.unreachable(error)) from error
        found = []
    for item in found:
        yield web.result(item["title"], item["href"], item["body"])


def extract(urls):
    return web.each(urls, read)


def read(url):
    try:
        with PAGE.errors():
            text = client().extract(url)["content"]
    except DDGSException as error:
        raise Failure(f"cannot read the page: {error}") from error
    heading = next((line for line in text.splitlines() if line.startswith("#")), "")
    return web.page(url, heading.strip("# "), text)


TOOLS = web.tools(BACKEND, search, extract)
