"""tts.edge, by the package edge-tts."""

import base64
import hashlib
import os

from hermes_host import api, credential
from hermes_host.tool import Failure, Tool

BACKEND = "tts.edge"
EDGE = api.API("the speech service", BACKEND, address="EDGE_TTS_BASE_URL")
VOICE = credential.setting("EDGE_TTS_VOICE", "en-US-EmmaMultilingualNeural")


def load():
    global asyncio, sdk
    import asyncio

    import edge_tts as sdk

    if EDGE.address():
        _, _, query = sdk.communicate.WSS_URL.partition("?")
        base = EDGE.address().rstrip("/").replace("http", "ws", 1)
        sdk.communicate.WSS_URL = f"{base}/edge/v1?{query}"


async def synthesise(text, voice, rate):
    """The audio. The package would wait for ever for a service that says nothing."""
    audio = bytearray()
    stream = sdk.Communicate(text, voice, rate=rate, connect_timeout=max(1, int(api.TIMEOUT))).stream()
    while True:
        chunk = await asyncio.wait_for(anext(stream, None), api.TIMEOUT)
        if chunk is None:
            return bytes(audio)
        if chunk["type"] == "audio":
            audio += chunk["data"]


def speak(text, voice=VOICE, rate="+0%"):
    try:
        with EDGE.errors():
            audio = asyncio.run(synthesise(text, voice, rate))
    except sdk.exceptions.NoAudioReceived as error:
        raise Failure(f'no speech came back: check that there is a voice "{voice}"') from error
    except ValueError as error:  # a voice or rate that the package does not take
        raise Failure(f"cannot speak: {error}") from error
    directory = credential.setting("HERMES_BACKEND_DATA")
    if not directory:
        return [{"type": "audio", "data": base64.b64encode(audio).decode(), "mimeType": "audio/mpeg"}]
    return {"path": keep(audio, directory), "bytes": len(audio), "voice": voice, "backend": BACKEND}


def keep(audio, directory):
    """Writes the audio to a file that is named by it, so that it is whole wherever there is one."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"speech-{hashlib.sha256(audio).hexdigest()[:16]}.mp3")
    partial = f"{path}.{os.urandom(4).hex()}"
    try:
        with open(partial, "xb") as file:
            file.write(audio)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise
    return path


TOOLS = [
    Tool(
        speak,
        "speak",
        "Speaks a text. The answer says which file the speech is in, as MP3.",
        {
            "text": {"type": "string", "minLength": 1, "maxLength": 100_000},
            "voice": {"type": "string", "minLength": 1, "default": VOICE, "description": "a voice of Microsoft Edge"},
            "rate": {"type": "string", "minLength": 1, "default": "+0%", "description": "as +20% or -20%"},
        },
        ["text"],
    )
]
