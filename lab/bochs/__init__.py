# SPDX-License-Identifier: Apache-2.0
"""A machine with Intel's VMX in software: QEMU does not emulate that, Bochs does."""
