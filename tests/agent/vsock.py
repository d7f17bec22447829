#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording over vsock, where this kernel can loop it back: address, port, token, data, end."""

import json
import os
import socket
import subprocess

import agents
from agents import Place, check, lib, wait_until
from real import INSTANCES, elsewhere, is_sound

LOCAL = 1  # VMADDR_CID_LOCAL
PORT = 21399


def loops_back():
    """None, or why not."""
    subprocess.run(["modprobe", "-q", "vsock_loopback"], check=False)
    try:
        with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as listener, \
                socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as caller:
            listener.bind((socket.VMADDR_CID_ANY, PORT))
            listener.listen()
            caller.settimeout(2)
            caller.connect((LOCAL, PORT))
    except OSError as error:
        return error.strerror or str(error)
    return None


def start_agent(place, *options):
    log = place.path / "agent.log"
    with open(log, "w") as out:
        process = subprocess.Popen(
            [*elsewhere(place), lib.BUILD / "sonde-agent", "--vsock", str(PORT), *options], stderr=out)
    place.started.append(process)
    wait_until(lambda: "listening on vsock" in log.read_text(), "the agent listens")
    return process, log


def record(place, out, *options):
    return subprocess.run(
        [lib.SONDE, "record", "--format", "json", "-o", place.path / out, "--guest",
         f"vm-a=vsock:{LOCAL}:{PORT}", "--guest-timeout", "3", *options, "--", "sleep", "1"],
        capture_output=True, text=True, timeout=60)


def main():
    agents.need_programs()
    if os.geteuid() or not INSTANCES.is_dir():
        lib.skip("sonde record needs root and tracefs")
    reason = loops_back()
    if reason:
        lib.skip(f"vsock does not loop back here (no vsock_loopback): {reason}")
    with Place() as place:
        process, _ = start_agent(place, "--token-file", place.token)
        done = record(place, "run", "--token-file", place.token)
        check(done.returncode == 0, done.stderr)
        [guest] = json.loads(done.stdout)["guests"]
        check(guest["complete"] and guest["bytes"] > 50_000, guest)
        check(is_sound(place.path / "run"), "not sound")
        process.kill()
        process.wait()
    # Without a token only the host may call; this machine is not its own host.
    with Place() as place:
        _, log = start_agent(place)
        done = record(place, "run")
        check(done.returncode == 1 and "refused vsock" in log.read_text(),
              (done.stderr, log.read_text()))


if __name__ == "__main__":
    main()
