# SPDX-License-Identifier: Apache-2.0
"""The one exception the lab raises for what a user can understand and mend."""


class Failure(Exception):
    """Its text says what is wrong, where, and what to do."""
