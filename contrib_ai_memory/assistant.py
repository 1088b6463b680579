"""The former place of `script`: databases of the first release name it as their scripts' class."""

from .script import AssistantScript

__all__ = ["AssistantScript"]
