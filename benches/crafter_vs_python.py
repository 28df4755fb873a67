#!/usr/bin/env python3
"""Times Crafter's Python package and the native one on the same actions, and prints the ratio.

    pip install crafter==1.8.3
    cargo build --release --no-default-features
    python3 benches/crafter_vs_python.py [path/to/automem]

Python is timed twice: as it comes, and with its drawing removed, which is the best it can do.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

DAY = 147  # steps of an episode before the pictures become noisy
EPISODES = 4


def actions(seed):
    """The generator of the recorded oracle; `automem bench crafter` uses the same."""
    mask = (1 << 64) - 1
    state = (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) & mask
    run = direction = 0

    def draw():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & mask
        return state >> 33

    while True:
        if run > 0:
            run -= 1
            yield direction
            continue
        r = draw() % 100
        if r < 45:
            direction = 1 + draw() % 4
            run = draw() % 6
            yield direction
        elif r < 94:
            bounds = ((82, 5), (83, 6), (85, 0), (88, 7), (91, 8), (92, 9), (94, 10))
            yield next(action for bound, action in bounds if r < bound)
        else:
            yield 11 + r - 94


def time_python(crafter, drawing):
    steps = stepping = resetting = 0
    for seed in range(42, 42 + EPISODES):
        env = crafter.Env(seed=seed)
        if not drawing:
            env.render = lambda *_: None
        begin = time.perf_counter()
        env.reset()
        resetting += time.perf_counter() - begin
        chosen = actions(seed)
        begin = time.perf_counter()
        for _ in range(DAY):
            env.step(next(chosen))
        stepping += time.perf_counter() - begin
        steps += DAY
    return steps / stepping, 1000 * resetting / EPISODES


def main():
    root = Path(__file__).resolve().parent.parent
    program = sys.argv[1] if len(sys.argv) > 1 else str(root / "target/release/automem")
    if not Path(program).exists():
        sys.exit(f"error: {program} does not exist; build it with: cargo build --release --no-default-features")
    try:
        import crafter
    except ImportError:
        sys.exit("error: the Python package is not there; install it with: pip install crafter==1.8.3")
    output = subprocess.run([program, "bench", "crafter", "--json"], check=True, capture_output=True, text=True)
    ours = {figure["name"]: figure["value"] for figure in json.loads(output.stdout)["figures"]}
    print(f"{'':<34}{'Python':>12}{'native':>12}{'ratio':>9}")
    for name, drawing in (("with drawing", True), ("drawing removed", False)):
        speed, reset_ms = time_python(crafter, drawing)
        fast = ours["day_without_text"]
        print(f"{'steps/s by day, ' + name:<34}{speed:>12.0f}{fast:>12.0f}{fast / speed:>8.0f}x")
    print(f"{'reset, ms':<34}{reset_ms:>12.1f}{ours['reset']:>12.2f}{reset_ms / ours['reset']:>8.0f}x")


if __name__ == "__main__":
    main()
