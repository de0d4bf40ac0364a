"""C = A B on the processes of a Dask cluster: A has more bytes than a process may use.

    python3 examples/cluster/dask_product.py [ROWS = 14336 [INNER = 4096 [COLS = 128]]]

Every process multiplies tiles by the module `stratagemm`. A is made tile by tile where its tiles are needed. The result is
compared with the oracle at sampled rows, and no process may have used more than its limit. Needs dask.array and
distributed (Debian: python3-distributed).
"""

import resource
import sys

import dask
import dask.array as da
import numpy as np
import stratagemm as sg
from distributed import Client, LocalCluster, wait

TILE = 2048
LIMIT = 384  # MiB for each process


def multiply_add(a, b, c, policy):
    """C + A B as a new array, since Dask may have another use for C; C is None at first."""
    return sg.gemm(a, b, add=c, policy=policy)


def matmul(a, b, policy="host"):
    """A B for arrays of Dask: each tile of the result is a chain of products, which adds one pair of tiles after another."""
    left, right = a.to_delayed(), b.to_delayed()
    step = dask.delayed(multiply_add, pure=True)

    def tile(i, j):
        c = None
        for k in range(left.shape[1]):
            c = step(left[i, k], right[k, j], c, policy)
        return da.from_delayed(c, shape=(a.chunks[0][i], b.chunks[1][j]), dtype=a.dtype)

    return da.block([[tile(i, j) for j in range(right.shape[1])] for i in range(left.shape[0])])


def worst_error(a, b, c, rows):
    """The largest error in these rows of C, over the bound k u |A| |B| of any order of the sum."""
    a, b, c = dask.compute(a[rows], b, c[rows])
    right = sg.gemm(a, b, policy="reference")
    bound = b.shape[0] * 2.0**-53 * sg.gemm(abs(a), abs(b), policy="reference")
    return float(np.max(abs(c - right) / bound))  # a NaN is the largest


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main():
    sizes = [int(x) for x in sys.argv[1:]]
    m, k, n = sizes + [14336, 4096, 128][len(sizes):]
    random = da.random.RandomState(1)
    a = random.standard_normal((m, k), chunks=TILE)
    b = random.standard_normal((k, n), chunks=TILE)
    print(f"A has {a.nbytes >> 20} MiB, and each of two processes may use {LIMIT} MiB")
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=f"{LIMIT}MiB", dashboard_address=None) as cluster:
        with Client(cluster) as client:
            c = matmul(a, b).persist()
            wait(c)
            worst = worst_error(a, b, c, np.unique(np.linspace(0, m - 1, 8).astype(int)))
            peaks = client.run(peak)
            print(f"the largest error is {worst:.2g} of k u |A| |B|; "
                  f"the processes used up to {', '.join(str(x) for x in peaks.values())} MiB")
    return 0 if worst <= 1 and max(peaks.values()) < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
