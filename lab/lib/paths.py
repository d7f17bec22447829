# SPDX-License-Identifier: Apache-2.0
"""Where the lab's parts are.  SONDE_LAB_CACHE moves the cache, to share it among work trees."""
import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / os.environ.get("SONDE_BUILD", "build")
LAB = REPOSITORY / "lab"
GUEST = LAB / "guest"
SCENARIOS = LAB / "scenarios"
PROGRAMS = BUILD / "lab"
CACHE = Path(os.environ.get("SONDE_LAB_CACHE") or BUILD / "lab" / "cache")
