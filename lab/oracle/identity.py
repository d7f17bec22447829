# SPDX-License-Identifier: Apache-2.0
"""What one CPU's registers say: lab/workloads/workload.h describes the marks that programs leave in them."""
from dataclasses import dataclass

MAGIC = 0x534F4E44
KERNEL_SPACE = 0xFFFF800000000000


@dataclass
class Cpu:
    """The registers of one CPU in one reading, as numbers."""
    number: int
    r12: int
    r13: int
    r14: int
    r15: int
    cpl: int
    hlt: int
    cr3: int
    gs: int

    @classmethod
    def of(cls, raw):
        """None for a CPU that was not in long mode."""
        if "r15" not in raw:
            return None
        numbers = {name: int(raw[name], 16) for name in ("r12", "r13", "r14", "r15", "cr3", "gs")}
        return cls(raw["cpu"], cpl=raw["cpl"], hlt=raw["hlt"], **numbers)

    def marked(self):
        return self.r15 >> 32 == MAGIC

    def torn(self):
        """The registers were read while they changed, or before the program's first look at the counter."""
        return self.r14 == 0 or self.r12 ^ self.r14 != self.r15

    def work(self):
        return self.r15 & 0xFFFFFFFF

    def in_kernel(self):
        """In a kernel, with that kernel's own segment base."""
        return self.cpl == 0 and self.gs >= KERNEL_SPACE
