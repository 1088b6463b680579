"""The settings of the example game: Evennia's defaults, and the few lines that a memory needs.

An existing game copies the block marked below; everything else here is for `make demo`.
"""

from evennia.settings_default import *  # noqa: F403

SERVERNAME = "The Drowned Lantern"

# --- copy from here ---------------------------------------------------------------------------
INSTALLED_APPS += ["contrib_ai_memory"]  # noqa: F405

CONTRIB_AI_MEMORY = {
    # Everything has a default. A language model, if you have one:
    # "LLM": {"base_url": "http://127.0.0.1:8080/v1", "model": "your-model"},
}
# --- to here ----------------------------------------------------------------------------------

# The demo makes two accounts from one address in a row.
CREATION_THROTTLE_LIMIT = 20
LOGIN_THROTTLE_LIMIT = 20

try:
    from server.conf.secret_settings import *  # noqa: F403
except ImportError:
    print("secret_settings.py file not found or failed to import.")  # noqa: T201
