"""How hypothesis runs here: without deadlines, as machines are busy; `--hypothesis-profile=deep` searches for long."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI every run looks at the same examples, so that a change is judged by what it changes.
settings.register_profile("everyday", deadline=None, derandomize="CI" in os.environ)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile("everyday")
