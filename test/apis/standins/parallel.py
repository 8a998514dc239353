"""Stands for parallel-web."""

import types

import standin


class Parallel:
    def __init__(self, api_key, base_url, timeout, max_retries):
        self.key, self.url, self.timeout, self.beta = api_key, base_url, timeout, self

    def _post(self, path, body):
        answer = standin.request("POST", self.url + path, body, {"x-api-key": self.key}, self.timeout)
        answer.raise_for_status()
        return answer.json()

    def search(self, objective, search_queries, max_results, mode):
        answer = self._post("/v1beta/search", {"objective": objective, "max_results": max_results})
        names = {"title": "title", "url": "url", "excerpts": "excerpts", "publish_date": "publish_date"}
        return types.SimpleNamespace(results=standin.items(answer["results"], **names))

    def extract(self, urls, excerpts, full_content):
        answer = self._post("/v1beta/extract", {"urls": urls, "full_content": full_content})
        names = {"title": "title", "url": "url", "full_content": "full_content"}
        return types.SimpleNamespace(results=standin.items(answer["results"], **names), errors=[])
