"""Sparse, Toeplitz and factored operands, transforms and factors, against NumPy."""

import unittest

import numpy as np
import stratagemm as sg

rng = np.random.default_rng(6)


def numbers(*shape, kind="float64"):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind.startswith("complex") else x).astype(kind)


def sparse(dense, index):
    rows, columns = np.nonzero(dense)
    begins = np.searchsorted(rows, np.arange(dense.shape[0] + 1)).astype(index)
    return sg.csr(dense[rows, columns], columns.astype(index), begins, dense.shape)


def toeplitz(column, row):
    i, j = np.indices((len(column), len(row)))
    return np.where(i >= j, column[(i - j) * (i >= j)], row[(j - i) * (i < j)])


class Structures(unittest.TestCase):
    def all_sides(self, operand, dense):
        """The operand and its transposes, on the left and on the right."""
        kind = dense.dtype
        near = 1e-4 if kind in ("float32", "complex64") else 1e-12
        for x, d in [(operand, dense), (operand.T, dense.T), (operand.conj(), dense.conj()),
                     (operand.T.conj(), dense.T.conj())]:
            self.assertEqual(x.shape, d.shape)
            self.assertEqual(x.dtype, str(kind))
            b, a = numbers(3, d.shape[1], 5, kind=str(kind)), numbers(4, d.shape[0], kind=str(kind))
            rows = numbers(d.shape[0], kind=str(kind))
            np.testing.assert_allclose(sg.gemm(x, b), d @ b, rtol=near, atol=near)
            np.testing.assert_allclose(sg.gemm(a, x), a @ d, rtol=near, atol=near)
            c, e = np.asfortranarray(numbers(d.shape[0], 5, kind=str(kind))), numbers(d.shape[0], 5, kind=str(kind))
            before = c.copy()
            sg.gemm(x, b[0], c, alpha=2, beta=-1, epilogue=sg.bias(rows, along="rows"))
            np.testing.assert_allclose(c, 2 * (d @ b[0]) - before + rows[:, None], rtol=near, atol=near)
            np.testing.assert_allclose(sg.gemm(x, b[0], add=e), d @ b[0] + e, rtol=near, atol=near)

    def test_csr(self):
        for kind in ["float32", "float64", "complex64", "complex128"]:
            for index in ["int32", "int64"]:
                dense = numbers(13, 17, kind=kind) * (rng.random((13, 17)) < 0.3)
                self.all_sides(sparse(dense.astype(kind), index), dense.astype(kind))

    def test_scipy(self):
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("no SciPy here")
        a = scipy.sparse.random(30, 40, 0.2, "csr", random_state=1)
        b = numbers(40, 6)
        np.testing.assert_allclose(sg.gemm(sg.csr(a), b), a @ b, atol=1e-13)
        with self.assertRaisesRegex(TypeError, "in the format csr"):
            sg.csr(a.tocoo())

    def test_unaligned(self):
        def unaligned(x):
            y = np.frombuffer(bytearray(x.nbytes + 1), "u1")[1:].view(x.dtype).reshape(x.shape)
            y[...] = x
            return y
        data, indices, indptr = np.array([1.0, 2, 3]), np.array([0, 2, 1], "i4"), np.array([0, 2, 3], "i4")
        b = np.arange(12.0).reshape(3, 4)
        expected = sg.gemm(sg.csr(data, indices, indptr, (2, 3)), b)
        found = sg.gemm(sg.csr(*map(unaligned, (data, indices, indptr)), (2, 3)), unaligned(b))
        np.testing.assert_array_equal(found, expected)
        x = unaligned(np.arange(12.0).reshape(3, 4) + 0j)
        spectrum = unaligned(np.zeros((3, 4), complex))
        self.assertIs(sg.fft(x, out=spectrum), spectrum)
        np.testing.assert_array_equal(spectrum, sg.fft(np.array(x)))

    def test_csr_refuses(self):
        data, indices, begins = np.ones(3), np.array([0, 1, 2], "int32"), np.array([0, 2, 3], "int32")
        sg.csr(data, indices, begins, (2, 3))
        for wrong, what in [
            ((data, indices, begins, (3, 3)), "one more than rows"),
            ((data, indices, begins, (2, 2)), "column"),
            ((data, indices, begins[::-1].copy(), (2, 3)), "row_begins"),
            ((data, indices, begins.astype("int64"), (2, 3)), "of one type"),
            ((data[:2], indices, begins, (2, 3)), "3 indices and 2 elements"),
            ((np.ones(6)[::2], indices, begins, (2, 3)), "side by side"),
            ((data.astype("float16"), indices, begins, (2, 3)), "float16"),
        ]:
            with self.assertRaisesRegex((ValueError, TypeError), what):
                sg.csr(*wrong)

    def test_toeplitz(self):
        for kind in ["float32", "float64", "complex64", "complex128"]:
            column, row = numbers(12, kind=kind), numbers(34, kind=kind)[::2]
            for by_transforms in [False, True]:
                self.all_sides(sg.toeplitz(column, row, by_transforms=by_transforms), toeplitz(column, row))
            self.all_sides(sg.toeplitz(column), toeplitz(column, column.conj()))

    def test_factored(self):
        for kind in ["float32", "float64", "complex64", "complex128"]:
            u, v = numbers(13, 3, kind=kind), numbers(3, 11, kind=kind)
            self.all_sides(sg.factored(u, v), u @ v)

    def test_operands_hold_their_arrays(self):
        x = sg.toeplitz(np.arange(1.0, 5)).T
        np.testing.assert_array_equal(sg.gemm(x, np.eye(4)), toeplitz(np.arange(1.0, 5), np.arange(1.0, 5)))

    def test_fft(self):
        x = numbers(3, 12, 5)
        for axis in [0, 1, 2, -1, -3]:
            y = sg.fft(x, axis=axis)
            np.testing.assert_allclose(y, np.fft.fft(x, axis=axis), atol=1e-13)
            np.testing.assert_allclose(sg.ifft(y, axis=axis), x, atol=1e-13)
        z = numbers(64, kind="complex64")
        self.assertEqual(sg.fft(z).dtype, "complex64")
        np.testing.assert_allclose(sg.fft(z), np.fft.fft(z), atol=1e-4)
        out = np.empty((12, 3), "complex128").T
        self.assertIs(sg.fft(x[:, :, 0], out=out), out)
        np.testing.assert_allclose(out, np.fft.fft(x[:, :, 0]), atol=1e-13)
        in_place = numbers(4, 30, kind="complex128")
        expected = np.fft.fft(in_place, axis=0)
        sg.fft(in_place, axis=0, out=in_place)
        np.testing.assert_allclose(in_place, expected, atol=1e-13)
        four = numbers(2, 3, 4, 5)
        for axis in range(4):
            np.testing.assert_allclose(sg.fft(four, axis=axis), np.fft.fft(four, axis=axis), atol=1e-13)
        for wrong, what in [({"axis": 3}, "no dimension"), ({"out": np.empty(3, complex)}, "sides"),
                            ({"out": np.empty_like(x)}, "no product")]:
            with self.assertRaisesRegex((ValueError, TypeError), what):
                sg.fft(x, **wrong)

    def test_low_rank(self):
        for kind in ["float32", "float64", "complex64", "complex128"]:
            a = numbers(60, 6, kind=kind) @ numbers(6, 80, kind=kind)
            u, v = factors = sg.low_rank(a, tolerance=1e-4)
            self.assertEqual((factors.rank, u.shape, v.shape), (6, (60, 6), (6, 80)))
            self.assertLess(np.linalg.norm(u @ v - a), 1e-4 * np.linalg.norm(a))
            self.assertLess(factors.bound, 1e-4)
            b = numbers(80, 3, kind=kind)
            np.testing.assert_allclose(sg.gemm(factors.operand(), b), a @ b, rtol=1e-2, atol=1e-2)
            self.assertEqual(sg.low_rank(a, rank=3).rank, 3)
        with self.assertRaisesRegex(ValueError, "low_rank: give a `tolerance`"):
            sg.low_rank(a)


if __name__ == "__main__":
    unittest.main()
