"""kronecker.py PROGRAM: runs the cases of bench_fft_kronecker, and FastKron (pip install pyfastkron numpy) on the same
shapes in turn, where it can be imported. One thread is timed by the processor's clock of the program."""
import math
import os
import subprocess
import sys
import time

program = sys.argv[1]


def timed(m, p, factors, dtype, threads):
    """Run in a process of its own: OpenMP reads its number of threads once."""
    import numpy
    import pyfastkron.fastkronnumpy as fastkron

    x = numpy.random.rand(m, p**factors).astype(dtype)
    f = [numpy.random.rand(p, p).astype(dtype) for _ in range(factors)]
    clock = time.process_time if threads == 1 else time.perf_counter
    fastkron.gemkm(x, f)
    begin = clock()
    fastkron.gemkm(x, f)
    times = 1 + int(20e-3 / (clock() - begin + 1e-9))
    rounds = []
    for _ in range(11):
        begin = clock()
        for _ in range(times):
            fastkron.gemkm(x, f)
        rounds.append((clock() - begin) / times)
    return 1e6 * sorted(rounds)[5]


def peer(m, p, factors, dtype, threads):
    found = subprocess.run([sys.executable, __file__, "-", m, p, factors, dtype, threads], capture_output=True,
                           text=True, env={**os.environ, "OMP_NUM_THREADS": threads})
    return float(found.stdout) if found.returncode == 0 else None


if program == "-":
    m, p, factors, dtype, threads = sys.argv[2:]
    print(timed(int(m), int(p), int(factors), dtype, int(threads)))
    sys.exit()

logs = []
for case in range(24):
    lines = []
    others = []
    for _ in range(3):  # in turn
        lines.append(subprocess.run([program, str(case)], capture_output=True, text=True, check=True).stdout.split())
        others.append(peer(*lines[-1][1:6]))
    _, m, p, factors, dtype, threads, _ = lines[0]
    ours = sorted(float(line[6]) for line in lines)[1]
    text = f"{m:>5} x {p}^{factors} {dtype} threads:{threads} {ours:12.2f} us"
    if None not in others:
        ratio = sorted(others)[1] / ours
        logs.append(math.log(ratio))
        text += f"  FastKron {sorted(others)[1]:.2f} ({ratio:.2f})"
    print(text, flush=True)
if logs:
    print(f"ratio to FastKron: geometric mean {math.exp(sum(logs) / len(logs)):.2f}, worst {math.exp(min(logs)):.2f}")
else:
    print("no FastKron here: pip install pyfastkron numpy")
