"""Matrix products as stacks of policies: C = epilogue(alpha A B + beta E).

    import numpy as np, stratagemm as sg
    c = sg.gemm(a, b)                                 # as a @ b
    sg.gemm(a, b, c, alpha=2, beta=0.5)               # into c, which is read, too
    sg.gemm(a, b, c, policy="strassen(host)")         # by another policy: policies() lists them
    sg.gemm(a, b, add=e, epilogue=sg.then(sg.bias(v), sg.relu))
    print(sg.explain(a, b))                           # what would run

Arrays are those of any library with the buffer protocol (NumPy) or DLPack (torch, JAX, CuPy), on the host or on CUDA
devices. They are read and written where they lie.
"""

from ._core import Plan, __version__, array, explain, fft, gemm, operand, plan
from ._core import policies as _policies
from ._epilogues import Epilogue, bias, clamp, gelu, relu, scale, then
from ._operands import Factors, csr, factored, ifft, low_rank, toeplitz

__all__ = [
    "Epilogue", "Factors", "Plan", "array", "bias", "clamp", "csr", "explain", "factored", "fft", "gelu", "gemm",
    "ifft", "low_rank", "operand", "plan", "policies", "relu", "scale", "then", "toeplitz",
]

for _made in (Epilogue, Factors):  # as whoever imports them knows them
    _made.__module__ = __name__


def policies(place="host"):
    """The names that the argument `policy` may have, for arrays on the host or on "cuda" devices."""
    if place not in ("host", "cuda"):
        raise ValueError(f"policies: there are 'host' and 'cuda', and not {place!r}")
    return _policies(place == "cuda")
