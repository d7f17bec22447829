# SPDX-License-Identifier: Apache-2.0
"""What the emulated hardware really did, and whether a history agrees.

    sampler.py   while the lab runs: reads the emulated CPUs' registers, to a file of raw readings
    samples.py   raw readings and the lab's notes of what it started -> samples.json
    compare.py   samples.json against a history

The first two know nothing of Sonde: what they say must not depend on what it thinks.
"""
