"""Chat models, one folder per provider. The SDKs that they need are imported at the first request."""

from .openai import OpenAIChatModel
from .profiles import PROFILES, ProviderProfile

__all__ = ["PROFILES", "OpenAIChatModel", "ProviderProfile"]
