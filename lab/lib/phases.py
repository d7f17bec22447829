# SPDX-License-Identifier: Apache-2.0
"""The course of one run: prepared → armed → go → done → finished → saved → off.

The engine drives all machines from outside, so that each of them only does what it is told.  A machine that
begins late goes through the same phases by itself; one that the scenario ends is not waited for any more.
"""
import time

from .control import RunBroken
from .failure import Failure
from .scenario import HOST

# Parts of the scenario's seconds.  A nested machine on a slow day is late with its works: look again.
WITNESS_AT = (0.4, 0.8)


class Run:
    def __init__(self, scenario, control, stopwatch):
        self.scenario, self.control, self.stopwatch = scenario, control, stopwatch
        self.names = [machine.name for machine in scenario.machine]
        self.late = self.begins_late()
        self.alive = set()
        control.on["prepared"] = self.prepared
        control.on["gone"] = self.gone
        control.on["trouble"] = self.trouble
        control.on["failed"] = self.failed
        self.going = False
        self.troubles = []

    def begins_late(self):
        """Machines that are not there at the start, with everything inside them."""
        late = set()
        for machine in self.scenario.machine:
            if machine.boot == "later" or machine.parent in late:
                late.add(machine.name)
        return late

    def prepared(self, name, uptime):
        self.alive.add(name)
        self.stopwatch.say(f"  {name} is up, {uptime} s after its kernel")
        if name in self.late and self.going:
            self.control.send(name, "arm")
            self.control.send(name, "go")

    def gone(self, name, status):
        self.alive -= {name, *(machine.name for machine in self.scenario.descendants(name))}
        if not self.scenario.ends(name) and not self.control.said(name, "saved"):
            self.control.broken = f"{name} ended on its own (status {status})"

    def trouble(self, name, text):
        self.troubles.append(f"{name}: {text}")
        self.stopwatch.say(f"{name}: trouble: {text}")

    def failed(self, name, text):
        """Not the emulator's fault, and another try would not help."""
        raise Failure(f"{name}: {text}")

    def tell(self, names, verb, answer, seconds=None):
        """Sends `verb` to each machine and waits for the answers of those that live."""
        for name in names:
            self.control.send(name, verb)
        def answered():
            return all(self.control.said(name, answer) or name not in self.alive for name in names)
        self.control.wait(f"\"{answer}\" from " + ", ".join(
            name for name in names if not self.control.said(name, answer)), answered, seconds)

    def by_level(self, deepest_first=True):
        levels = sorted({machine.level for machine in self.scenario.machine}, reverse=deepest_first)
        for level in levels:
            yield [machine.name for machine in self.scenario.machine
                   if machine.level == level and machine.name in self.alive]

    def boot(self):
        first = [name for name in self.names if name not in self.late]
        with self.stopwatch.step("boot of " + ", ".join(first)):
            self.control.wait("machines to boot",
                              lambda: all(self.control.said(name, "prepared") for name in first))

    def arm(self):
        with self.stopwatch.step("tracers start"):
            guests = [name for names in self.by_level() for name in names if name != HOST]
            self.tell(guests, "arm", "armed")
            self.tell([HOST], "arm", "armed")

    def go(self):
        self.going = True
        for names in self.by_level():
            for name in names:
                self.control.send(name, "go")

    def over(self, name):
        """Nothing is to be expected from this machine's works any more."""
        if self.control.said(name, "gone"):
            return True
        return self.control.said(name, "done") and not self.scenario.ends(name)

    def work(self):
        """Until everything that the scenario plans has happened."""
        begin = time.monotonic()
        with self.stopwatch.step("the scenario"):
            self.go()
            for part in WITNESS_AT:
                self.sleep_until(begin + part * self.scenario.seconds)
                for name in sorted(self.alive):
                    self.control.send(name, "witness")
            self.sleep_until(begin + self.scenario.seconds)
            self.control.wait("works to be over", lambda: all(map(self.over, self.expected())),
                              60 + 2 * self.scenario.seconds)

    def expected(self):
        """Machines that are there, or that an action starts."""
        return [name for name in self.names
                if name not in self.late or self.scenario.ends(name)
                or any(action.do == "start" for action in self.scenario.action)]

    def sleep_until(self, moment):
        while time.monotonic() < moment:
            if not self.control.alive():
                raise RunBroken("the emulator ended")
            self.control.pump(moment - time.monotonic())

    def finish(self):
        """The host's recorder first: it gathers from the guests while they live."""
        with self.stopwatch.step("tracers stop"):
            self.tell([HOST], "finish", "finished")
            self.tell([name for name in self.names if name in self.alive and name != HOST],
                      "finish", "finished")

    def save(self):
        with self.stopwatch.step("saving, power off"):
            for names in self.by_level():
                self.tell(names, "save", "saved")
                for name in names:
                    self.control.send(name, "off")
                self.control.wait("power off", lambda names=names: all(map(self.is_off, names)))

    def is_off(self, name):
        return name not in self.alive if name != HOST else not self.control.alive()
