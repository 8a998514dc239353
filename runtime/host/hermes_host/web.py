"""The tools that every search backend has, with one shape of their results."""

from .tool import Failure, Tool

# How many pages of one call are read at the same time.
AT_A_TIME = 5


def tools(backend, search, extract):
    """web_search and web_extract of a backend.

    search(query, limit) gives some of result(…), and extract(urls) some of page(…).
    """

    def web_search(query, limit=5):
        return {"results": list(search(query, limit))[:limit], "backend": backend}

    def web_extract(urls, max_characters=50_000):
        pages = [page | {"text": page["text"][:max_characters]} for page in extract(urls)]
        return {"pages": pages, "backend": backend}

    return [
        Tool(
            web_search,
            "web_search",
            "Searches the web. The results are pages with title, address and a snippet of their text, best first.",
            {
                "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "what to look for"},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 50,
                    "default": 5,
                    "description": "how many results at most",
                },
            },
            ["query"],
            _listed("results", ("title", "url", "snippet"), "published"),
        ),
        Tool(
            web_extract,
            "web_extract",
            "Reads web pages. Each has its title and its text as Markdown, or an error in the place of the text.",
            {
                "urls": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 8, "maxLength": 4000},
                    "minItems": 1,
                    "maxItems": 20,
                    "description": "addresses of pages",
                },
                "max_characters": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1_000_000,
                    "default": 50_000,
                    "description": "of the text of each page",
                },
            },
            ["urls"],
            _listed("pages", ("url", "title", "text"), "error"),
        ),
    ]


def result(title, url, snippet, published=None):
    """One of web_search. Backends leave things out; we do so with the day only."""
    found = {"title": title or "", "url": url or "", "snippet": (snippet or "").strip()}
    return found | {"published": published} if published else found


def page(url, title, text, error=None):
    """One of web_extract; error is why it has no text."""
    found = {"url": url or "", "title": title or "", "text": text or ""}
    return found | {"error": error} if error else found


def each(urls, read):
    """The pages of backends that read one at a time, some at a time.

    A page that cannot be read has an error; if none can, the call fails as the first of them did.
    """
    from concurrent.futures import ThreadPoolExecutor

    def attempt(url):
        try:
            return read(url), None
        except Failure as failure:
            return page(url, "", "", str(failure)), failure

    with ThreadPoolExecutor(AT_A_TIME) as readers:
        attempts = list(readers.map(attempt, urls))
    failures = [failure for _, failure in attempts if failure]
    if len(failures) == len(attempts):
        raise failures[0]
    return [page for page, _ in attempts]


def _listed(name, required, optional):
    texts = {key: {"type": "string"} for key in (*required, optional)}
    entry = {"type": "object", "properties": texts, "required": list(required)}
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": entry}, "backend": {"type": "string"}},
        "required": [name, "backend"],
    }
