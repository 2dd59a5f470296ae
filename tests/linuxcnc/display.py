#!/usr/bin/python3
"""LinuxCNC's display of a test: home, run programs in G-code, and write what became of them.

LinuxCNC starts it as its user interface and ends when it ends; it runs in the Python of LinuxCNC's package.
"""

import json
import os
import subprocess
import sys
import time

import linuxcnc

LONGEST = 120.0


def main() -> None:
    """Run the programs that the environment names."""
    stat, command, errors = linuxcnc.stat(), linuxcnc.command(), linuxcnc.error_channel()
    messages: list[str] = []

    def poll() -> None:
        stat.poll()
        while (error := errors.poll()) is not None:
            messages.append(error[1].strip())

    def wait_until(what, condition) -> None:
        start = time.monotonic()
        poll()
        while not condition():
            if time.monotonic() - start > LONGEST:
                raise RuntimeError(f"{what} took too long; {messages}")
            time.sleep(0.01)
            poll()

    def pin(name: str) -> str:
        return subprocess.check_output(["halcmd", "getp", name], text=True).strip()

    results = []
    command.state(linuxcnc.STATE_ESTOP_RESET)
    command.wait_complete()
    command.state(linuxcnc.STATE_ON)
    wait_until("on", lambda: stat.task_state == linuxcnc.STATE_ON)
    command.mode(linuxcnc.MODE_MANUAL)
    command.wait_complete()
    command.home(-1)
    wait_until("homing", lambda: all(stat.homed[: stat.joints]))
    pins = os.environ["NACELLE_PINS"]
    for program in os.environ["NACELLE_PROGRAMS"].split(":"):
        messages.clear()
        command.mode(linuxcnc.MODE_AUTO)
        command.wait_complete()
        command.program_open(program)
        command.wait_complete()
        command.auto(linuxcnc.AUTO_RUN, 0)
        wait_until("start", lambda: stat.interp_state != linuxcnc.INTERP_IDLE or bool(messages))
        line = 0

        def is_over() -> bool:
            nonlocal line
            line = max(line, stat.motion_line)
            return stat.interp_state == linuxcnc.INTERP_IDLE and stat.inpos and stat.queue == 0

        wait_until("program", is_over)
        time.sleep(0.1)
        poll()
        results.append(
            {
                "program": program,
                "line": line,
                "messages": list(messages),
                "enabled": bool(stat.enabled),
                "ferror": [stat.joint[k]["ferror_highmark"] for k in range(stat.joints)],
                "position": list(stat.position),
                "actual": list(stat.actual_position),
                "joints": [stat.joint_position[k] for k in range(stat.joints)],
                "refused": pin(f"{pins}.refused"),
                "reason": int(pin(f"{pins}.reason")),
                "worst": int(pin(f"{pins}.worst-count")),
            }
        )
    with open(os.environ["NACELLE_RESULTS"], "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    sys.exit(main())
