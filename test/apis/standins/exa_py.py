"""Stands for exa-py."""

import types

import standin


class Exa:
    def __init__(self, api_key, base_url):
        self.base_url, self.headers = base_url, {"x-api-key": api_key}

    def search(self, query, num_results, contents):
        answer = self.request("/search", {"query": query, "numResults": num_results, "contents": contents})
        names = {"title": "title", "url": "url", "highlights": "highlights", "published_date": "publishedDate"}
        return types.SimpleNamespace(results=standin.items(answer["results"], **names))

    def get_contents(self, urls, text):
        answer = self.request("/contents", {"urls": urls, "text": text})
        return types.SimpleNamespace(
            results=standin.items(answer["results"], title="title", url="url", text="text"),
            statuses=standin.items(answer["statuses"], id="id", status="status"),
        )
