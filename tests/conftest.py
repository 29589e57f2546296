"""How tests run here.

Hypothesis has no deadlines, as machines are busy, and looks at so many examples that all tests take a minute;
`--hypothesis-profile=deep` searches for long. Tables are printed as for a file, however wide the terminal is.
"""

from __future__ import annotations

import os

from hypothesis import settings

# In CI every run looks at the same examples, so that a change is judged by what it changes.
settings.register_profile("everyday", deadline=None, max_examples=30, derandomize="CI" in os.environ)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile("everyday")

os.environ.pop("COLUMNS", None)
