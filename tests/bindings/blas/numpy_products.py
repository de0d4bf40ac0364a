"""NumPy over the library: products of every type and layout, and what its linear algebra makes of them."""
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy here")
    sys.exit(77)

random = np.random.default_rng(1)


def matrix(rows, cols, kind):
    x = random.standard_normal((rows, cols))
    if np.issubdtype(kind, np.complexfloating):
        x = x + 1j * random.standard_normal((rows, cols))
    return x.astype(kind)


for kind in (np.float32, np.float64, np.complex64, np.complex128):
    tolerance = 1e-3 if kind in (np.float32, np.complex64) else 1e-10
    a, b = matrix(301, 203, kind), matrix(203, 157, kind)
    for x, y in ((a, b), (b.T, a.T), (a[::3], b), (a, b[:, 5:150]), (a, a.T), (a.conj().T, a)):
        error = np.abs(x @ y - np.einsum("ik,kj->ij", x, y)).max()
        assert error < tolerance, (kind, x.shape, y.shape, error)
    square = matrix(250, 250, kind)
    identity = np.eye(250)
    assert np.abs(square @ np.linalg.inv(square) - identity).max() < 1e4 * tolerance
    q, r = np.linalg.qr(square)
    assert np.abs(q @ r - square).max() < tolerance
    assert np.abs(q.conj().T @ q - identity).max() < tolerance
    u, s, v = np.linalg.svd(square)
    assert np.abs((u * s) @ v - square).max() < tolerance
    positive = square @ square.conj().T + 250 * identity
    factor = np.linalg.cholesky(positive)
    assert np.abs(factor @ factor.conj().T - positive).max() < 1e3 * tolerance
