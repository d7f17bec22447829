# SPDX-License-Identifier: Apache-2.0
"""An emulator without the fault that loses runs: Debian's QEMU with the patches in this directory."""
