"""search.firecrawl, by the SDK firecrawl-py."""

import functools

from hermes_host import api, web

BACKEND = "search.firecrawl"
FIRECRAWL = api.API("Firecrawl", BACKEND, key="FIRECRAWL_API_KEY", address="FIRECRAWL_API_URL")


def load():
    global sdk
    import firecrawl as sdk


@functools.cache  # its connections are kept; other credentials are another process
def client():
    return sdk.Firecrawl(
        api_key=FIRECRAWL.key(),
        api_url=FIRECRAWL.address("https://api.firecrawl.dev"),
        timeout=api.TIMEOUT,
        max_retries=1,
    )


def search(query, limit):
    with FIRECRAWL.errors():
        found = client().search(query, limit=limit)
    for item in found.web or []:
        yield web.result(item.title, item.url, item.description)


def extract(urls):
    return web.each(urls, read)


def read(url):
    with FIRECRAWL.errors():
        document = client().scrape(url, formats=["markdown"])
    return web.page(url, document.metadata.title if document.metadata else "", document.markdown)


TOOLS = web.tools(BACKEND, search, extract)
