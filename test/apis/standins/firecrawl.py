"""Stands for firecrawl-py."""

import types

import standin


class Firecrawl:
    def __init__(self, api_key, api_url, timeout, max_retries):
        self.key, self.url, self.timeout = api_key, api_url, timeout

    def _post(self, path, body):
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = standin.request("POST", self.url + path, body, headers, self.timeout)
        answer.raise_for_status()
        return answer.json()["data"]

    def search(self, query, limit):
        web = self._post("/v2/search", {"query": query, "limit": limit})["web"]
        return types.SimpleNamespace(web=standin.items(web, title="title", url="url", description="description"))

    def scrape(self, url, formats):
        data = self._post("/v2/scrape", {"url": url, "formats": formats})
        metadata = types.SimpleNamespace(title=data["metadata"]["title"])
        return types.SimpleNamespace(markdown=data["markdown"], metadata=metadata)
