"""C = A B on the processes of torch.distributed, over gloo: A has more bytes than a process may use for matrices.

    python3 examples/cluster/torch_product.py [ROWS = 14336 [INNER = 4096 [COLS = 128 [PROCESSES = 4]]]]
    torchrun --nproc-per-node 2 examples/cluster/torch_product.py [ROWS [INNER [COLS]]]

Each process has neighbouring rows of A, B and C. The rows of B go around in a ring: while a process multiplies by those
that it has, by the module `stratagemm`, the next ones arrive. Sampled rows are compared with the oracle, and no process may
have used more than its limit. Needs torch.
"""

import os
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes share the cores

import stratagemm as sg
import torch
import torch.distributed as dist

LIMIT = 256  # MiB for the matrices of each process


def share(count, process):
    """Which of `count` rows a process has."""
    every = dist.get_world_size()
    return range(count * process // every, count * (process + 1) // every)


def numbers(seed, process, rows, cols):
    """A process's rows of a matrix: the same wherever they are made."""
    generator = torch.Generator().manual_seed(1000 * seed + process)
    return torch.randn(len(share(rows, process)), cols, generator=generator, dtype=torch.float64)


def multiply(a, b, inner, policy="host"):
    """This process's rows of A B. `a` and `b` are its rows of A and B; B has `inner` rows in all."""
    me, every = dist.get_rank(), dist.get_world_size()
    c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    for step in range(every):
        rows = share(inner, (me + step) % every)
        following = torch.empty(len(share(inner, (me + step + 1) % every)), b.shape[1], dtype=b.dtype)
        on_the_way = []
        if step + 1 < every:
            on_the_way = [dist.isend(b, (me - 1) % every), dist.irecv(following, (me + 1) % every)]
        sg.gemm(a[:, rows.start:rows.stop], b, c, beta=1, policy=policy)
        for message in on_the_way:
            message.wait()
        b = following
    return c


def worst_error(a, c, inner):
    """The largest error in sampled rows of C, over the bound k u |A| |B| of any order of the sum."""
    sampled = torch.linspace(0, a.shape[0] - 1, 8).long()
    right, magnitude = torch.zeros_like(c[sampled]), torch.zeros_like(c[sampled])
    for process in range(dist.get_world_size()):
        rows = share(inner, process)
        part, b = a[sampled, rows.start:rows.stop], numbers(2, process, inner, c.shape[1])
        sg.gemm(part, b, right, beta=1, policy="reference")
        sg.gemm(part.abs(), b.abs(), magnitude, beta=1, policy="reference")
    return ((c[sampled] - right).abs() / (inner * 2.0**-53 * magnitude)).max().item()  # a NaN is the largest


def memory(what):
    """MiB of this process: VmRSS now, VmHWM at most."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what)) / 1024


def work(m, k, n):
    me, every = dist.get_rank(), dist.get_world_size()
    if min(m, k) < every:
        raise ValueError(f"each of {every} processes needs rows of A and of B")
    if me == 0:
        print(f"A has {8 * m * k >> 20} MiB, and each of {every} processes may use {LIMIT} MiB", flush=True)
    before = memory("VmRSS")
    a, b = numbers(1, me, m, k), numbers(2, me, k, n)
    c = multiply(a, b, k)
    found = torch.tensor([worst_error(a, c, k), memory("VmHWM") - before], dtype=torch.float64)
    everywhere = [torch.empty_like(found) for _ in range(every)]
    dist.all_gather(everywhere, found)
    worst, most = torch.stack(everywhere).max(dim=0).values.tolist()
    if me == 0:
        print(f"the largest error is {worst:.2g} of k u |A| |B|; a process used up to {most:.0f} MiB")
    if not (worst <= 1 and most < LIMIT):
        sys.exit(1)


def one_of_several(process, every, place, sizes):
    dist.init_process_group("gloo", init_method=f"file://{place}/meeting", rank=process, world_size=every)
    work(*sizes)
    dist.destroy_process_group()


def main():
    given = [int(x) for x in sys.argv[1:]]
    *sizes, every = given + [14336, 4096, 128, 4][len(given):]
    if "RANK" in os.environ:  # torchrun started several
        dist.init_process_group("gloo")
        work(*sizes)
        return dist.destroy_process_group()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine
    with tempfile.TemporaryDirectory() as place:
        # If one ends with an error, this ends the others and says which one it was.
        torch.multiprocessing.spawn(one_of_several, (every, place, sizes), nprocs=every)


if __name__ == "__main__":
    main()
