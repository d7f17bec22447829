# SPDX-License-Identifier: Apache-2.0
"""The lab: a whole nested KVM machine in software.  lab/README.md says what it is for."""
