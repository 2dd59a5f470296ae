"""Taking times: the shortest of several, and of several things in turn."""

import gc
import platform
import subprocess
import sys
import time
from pathlib import Path


def best(function, repeat=7, least=0.02):
    """Shortest time of one call, in seconds; calls are repeated until they take `least`."""
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            function()
        elapsed = time.perf_counter() - start
        if elapsed > least:
            break
        number *= 4
    times = []
    gc.disable()
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            function()
        times.append((time.perf_counter() - start) / number)
    gc.enable()
    return min(times)


def in_turn(functions, rounds=25):
    """Times of some functions by name, run in turn so that all meet the same machine: a list for each."""
    return results_in_turn(
        {name: lambda function=function: once(function)[0] for name, function in functions.items()}, rounds
    )


def results_in_turn(functions, rounds):
    """What some functions that take their own times return, by name, run in turn: a list for each."""
    results = {name: [] for name in functions}
    gc.disable()
    for _ in range(rounds):
        for name, function in functions.items():
            results[name].append(function())
    gc.enable()
    return results


def side_by_side(first, second, rounds=25):
    """Shortest times of two functions, run in turn."""
    times = in_turn({1: first, 2: second}, rounds)
    return min(times[1]), min(times[2])


def once(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def say(*words):
    """Tell on the error stream how far the run is."""
    print(*words, file=sys.stderr, flush=True)


def processor():
    """Name of the processor, as the system gives it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    for line in text.splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    try:
        listed = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.machine()
    named = [line.split(":", 1)[1].strip() for line in listed.splitlines() if line.startswith("Model name")]
    return named[0] if named else platform.machine()
