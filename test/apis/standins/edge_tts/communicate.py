import asyncio

import standin

WSS_URL = "wss://nowhere.invalid/edge/v1?TrustedClientToken=1"


class Communicate:
    def __init__(self, text, voice, rate, connect_timeout):
        if not voice.endswith("Neural"):
            raise ValueError(f"Invalid voice '{voice}'.")
        self.timeout = connect_timeout

    async def stream(self):
        url = WSS_URL.replace("ws", "http", 1)
        answer = await asyncio.to_thread(standin.request, "GET", url, timeout=self.timeout)
        answer.raise_for_status()
        yield {"type": "SentenceBoundary"}
        yield {"type": "audio", "data": answer.text.encode()}
