# SPDX-License-Identifier: Apache-2.0
"""Commands given on the command line of lab/run, carried out inside the machines while these run."""
import sys

from .failure import Failure
from .scenario import HOST


def parse(text, scenario):
    """"MACHINE:COMMAND" or "COMMAND" (for L0) → (machine, command, in the background)."""
    machine, colon, rest = text.partition(":")
    if not colon or machine not in scenario.machines():
        machine, rest = HOST, text
    rest = rest.strip()
    if "\n" in rest:
        raise Failure("--exec takes one line; put a script into the machines with --put")
    return machine, rest.removesuffix("&").strip(), rest.endswith("&")


def show(machine, word, rest):
    """Prints what commands say, as it comes."""
    if word == "out":
        print(f"{machine}: {rest.partition(' ')[2]}", flush=True)


class Commands:
    def __init__(self, texts, scenario):
        self.list = [parse(text, scenario) for text in texts]

    def status_of(self, control, number):
        """The exit status of command `number`; None while it runs."""
        machine = self.list[number][0]
        for text in control.heard[machine, "ran"]:
            ident, _, status = text.partition(" ")
            if ident == str(number):
                return int(status)
        return None

    def run(self, control):
        """All, in their order.  Gives the exit statuses of those that ended: one in the background may go on
        until its machine is switched off."""
        for number, (machine, text, background) in enumerate(self.list):
            control.send(machine, "run", number, text)
            if not background:
                control.wait(f"the command \"{text}\"",
                             lambda number=number: self.status_of(control, number) is not None)
        if all(background for _, _, background in self.list):
            control.wait("commands in the background", lambda: all(
                self.status_of(control, number) is not None for number in range(len(self.list))))
        statuses = [self.status_of(control, number) for number in range(len(self.list))]
        return [status for status in statuses if status is not None]
