import re
import urllib.parse

import standin

from .base import BaseSearchEngine
from .exceptions import DDGSException


class Client:
    def __init__(self, timeout):
        self.timeout = timeout

    def request(self, method, url, data=None):
        return standin.request(method, url, timeout=self.timeout, data=data)


class Duckduckgo(BaseSearchEngine):
    search_url = "https://nowhere.invalid/html/"

    def __init__(self, timeout):
        self.http_client = Client(timeout)

    def search(self, query):
        page = self.request("POST", self.search_url, data=urllib.parse.urlencode({"q": query}).encode())
        rows = re.findall(r'<h2><a href="(.*?)">(.*?)</a></h2><a .*?>(.*?)</a>', page)
        return [{"href": href, "title": title, "body": body} for href, title, body in rows]


ENGINES = {"text": {"duckduckgo": Duckduckgo}}


class DDGS:
    def __init__(self, proxy, timeout):
        self.timeout = timeout

    def text(self, query, max_results, backend):
        failed = None
        try:
            found = ENGINES["text"][backend](self.timeout).search(query)
        except Exception as error:
            found, failed = [], error
        if found:
            return found[:max_results]
        raise DDGSException(failed or "No results found.")

    def extract(self, url):
        answer = standin.request("GET", url, timeout=self.timeout)
        if answer.status_code != 200:
            raise DDGSException(f"Failed to fetch {url}: HTTP {answer.status_code}")
        text = re.sub("<title>.*?</title>", "", answer.text).replace("<h1>", "# ").replace("</h1>", "\n")
        return {"url": url, "content": re.sub("<.*?>", "", text)}
