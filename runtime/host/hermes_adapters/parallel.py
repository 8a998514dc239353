"""search.parallel, by the SDK parallel-web."""

import functools

from hermes_host import api, web

BACKEND = "search.parallel"
PARALLEL = api.API("Parallel", BACKEND, key="PARALLEL_API_KEY", address="PARALLEL_BASE_URL")


def load():
    global sdk
    import parallel as sdk


@functools.cache
def client():
    return sdk.Parallel(
        api_key=PARALLEL.key(),
        base_url=PARALLEL.address("https://api.parallel.ai"),
        timeout=api.TIMEOUT,
        max_retries=0,
    )


def search(query, limit):
    with PARALLEL.errors():
        found = client().beta.search(objective=query, search_queries=[query], max_results=limit, mode="agentic")
    for item in found.results:
        yield web.result(item.title, item.url, "\n".join(item.excerpts or []), item.publish_date)


def extract(urls):
    with PARALLEL.errors():
        found = client().beta.extract(urls=urls, excerpts=False, full_content=True)
    for item in found.results:
        yield web.page(item.url, item.title, item.full_content or "\n".join(item.excerpts or []))
    for item in found.errors:
        yield web.page(item.url, "", "", f"Parallel could not read it: {item.error_type}")


TOOLS = web.tools(BACKEND, search, extract)
