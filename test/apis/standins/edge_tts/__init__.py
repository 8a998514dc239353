"""Stands for edge-tts."""

from . import communicate, exceptions
from .communicate import Communicate
