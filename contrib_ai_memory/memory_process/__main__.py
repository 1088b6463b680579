"""`python -m contrib_ai_memory.memory_process`: started by the game, in its folder."""

import sys

from contrib_ai_memory.memory_process import server

if __name__ == "__main__":
    sys.exit(server.main())
