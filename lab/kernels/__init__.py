# SPDX-License-Identifier: Apache-2.0
"""Kernels and kernel modules of our own for the lab, built from Debian's sources with the patches of kernel/patches."""
