"""gemm() on NumPy's arrays, against NumPy."""

import array
import itertools
import threading
import unittest

import numpy as np
import stratagemm as sg

KINDS = ["float32", "float64", "complex64", "complex128"]
ERROR = {"float16": 1e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-13, "complex128": 1e-13}
rng = np.random.default_rng(5)


def numbers(*shape, kind="float64"):
    x = rng.standard_normal(shape)
    if kind.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(kind)


def unaligned(x, order="C"):
    """The array at an address that is no multiple of anything, as if it came from another process."""
    y = np.frombuffer(bytearray(x.nbytes + 1), "u1")[1:].view(x.dtype).reshape(x.shape, order=order)
    y[...] = x
    return y


def in_records(x):
    """The array as a field of records of an odd size."""
    y = np.zeros(x.shape, [("before", "u1"), ("x", x.dtype)])["x"]
    y[...] = x
    return y


class Gemm(unittest.TestCase):
    def near(self, found, expected, kind=None):
        kind = kind or str(found.dtype)
        self.assertEqual(found.shape, expected.shape)
        scale = np.abs(expected).max(initial=1)
        self.assertLessEqual(np.abs(found - expected).max(initial=0), ERROR[kind] * scale)

    def test_types(self):
        for kind in [*KINDS, "float16"]:
            a, b = numbers(5, 70, kind=kind), numbers(70, 33, kind=kind)
            c = sg.gemm(a, b)
            self.assertIsInstance(c, np.ndarray)
            self.assertEqual(c.dtype, kind)
            self.near(c, a.astype("complex128") @ b.astype("complex128"), kind)

    def test_int8(self):
        a, b = (rng.integers(-128, 128, s).astype("int8") for s in [(9, 70), (70, 8)])
        c = sg.gemm(a, b, alpha=3)
        self.assertEqual(c.dtype, "int32")
        np.testing.assert_array_equal(c, 3 * (a.astype(int) @ b.astype(int)))

    def test_half_into_float(self):
        a, b = numbers(5, 70, kind="float16"), numbers(70, 4, kind="float16")
        c = np.empty((5, 4), "float32")
        self.assertIs(sg.gemm(a, b, c), c)
        self.near(c, a.astype("float64") @ b.astype("float64"), "float32")

    def test_factors(self):
        for kind in KINDS:
            a, b, e = numbers(6, 7, kind=kind), numbers(7, 8, kind=kind), numbers(6, 8, kind=kind)
            alpha, beta = (2 - 1j, 1j) if "complex" in kind else (2, -0.5)
            c, before = e.copy(), e.copy()
            sg.gemm(a, b, c, alpha=alpha, beta=beta)
            self.near(c, alpha * (a @ b) + beta * e)
            self.near(sg.gemm(a, b, add=e, alpha=alpha), alpha * (a @ b) + e)
            self.near(sg.gemm(a, b, add=e, beta=beta), a @ b + beta * e)
            np.testing.assert_array_equal(e, before)
            c[:] = np.nan
            self.near(sg.gemm(a, b, c, alpha=np.float32(2), beta=0), 2 * (a @ b))

    def test_strides(self):
        for kind in KINDS:
            big = numbers(40, 60, kind=kind)
            views = [lambda m, n: big[:m, :n], lambda m, n: big[:n, :m].T, lambda m, n: big[: 2 * m : 2, : 3 * n : 3],
                     lambda m, n: big[m:0:-1, n:0:-1], lambda m, n: np.asfortranarray(big[:m, :n])]
            for of_a, of_b, of_c in itertools.product(views, views, views):
                a, b, c = of_a(7, 9), of_b(9, 8), of_c(7, 8).copy()
                holder = np.zeros((14, 24), kind)[::2, ::3]
                expected = a @ b
                for to in (c, holder, np.zeros((8, 7), kind).T):
                    sg.gemm(a, b, to)
                    self.near(to, expected)

    def test_unaligned(self):
        ways = [unaligned, lambda x: unaligned(x, "F"), in_records, lambda x: in_records(x[::-1, ::-1])[::-1, ::-1],
                lambda x: in_records(x.T).T]
        for kind in [*KINDS, "float16"]:
            a, b, e = numbers(9, 7, kind=kind), numbers(7, 8, kind=kind), numbers(9, 8, kind=kind)
            for way in ways:
                x, y, c = way(a), way(b), way(e)
                self.assertFalse(x.flags.aligned and c.flags.aligned)
                self.near(sg.gemm(x, y), a @ b)
                self.near(sg.gemm(a, b, add=c), a @ b + e)
                self.near(sg.gemm(x, b, epilogue=sg.bias(c[0])), a @ b + e[0])
                around = c.base.copy() if way is in_records else None
                self.assertIs(sg.gemm(x, y, c, beta=2), c)
                self.near(c, a @ b + 2 * e)
                if around is not None:
                    np.testing.assert_array_equal(c.base["before"], around["before"])
        c = unaligned(e)
        self.assertIs(sg.plan(9, 8, 7, "float16").run(x, y, c), c)
        self.near(c, a @ b)
        with self.assertRaises(ValueError):
            sg.gemm(x, x, c)
        self.near(c, a @ b)
        stack = numbers(3, 9, 7)
        turned = stack.swapaxes(1, 2)
        self.near(sg.gemm(in_records(stack.T).T, unaligned(turned)), stack @ turned)
        self.assertEqual(sg.gemm(unaligned(np.ones((0, 4))), np.ones((4, 3))).shape, (0, 3))

    def test_batches(self):
        cases = [((3, 4, 5), (3, 5, 6)), ((4, 5), (3, 5, 6)), ((3, 4, 5), (5, 6)), ((2, 3, 4, 5), (3, 5, 6)),
                 ((2, 1, 4, 5), (3, 5, 6)), ((1, 4, 5), (7, 5, 6)), ((0, 4, 5), (5, 6)),
                 ((2, 2, 2, 4, 5), (1, 2, 1, 5, 6))]
        for of_a, of_b in cases:
            for kind in KINDS:
                a, b = numbers(*of_a, kind=kind), numbers(*of_b, kind=kind)
                self.near(sg.gemm(a, b), a @ b)
                e = numbers(*(a @ b).shape, kind=kind)
                self.near(sg.gemm(a, b, add=e, epilogue=sg.scale(2)), 2 * (a @ b + e))
        a = numbers(3, 2, 4, 5).transpose(1, 0, 2, 3)
        b, c = numbers(2, 3, 5, 6), numbers(3, 2, 6, 4).transpose(1, 0, 3, 2)
        sg.gemm(a, b, c)
        self.near(c, a @ b)

    def test_epilogues(self):
        a, b, rows, columns = numbers(20, 9), numbers(9, 30), numbers(20), numbers(60)[::2]
        c = a @ b
        for found, expected in [
            ("relu", np.maximum(c, 0)),
            (sg.clamp(-1, 0.5), np.clip(c, -1, 0.5)),
            (sg.scale(-2), -2 * c),
            (sg.bias(columns), c + columns),
            (sg.bias(rows, along="rows"), c + rows[:, None]),
            (sg.scale(rows, along="rows"), c * rows[:, None]),
            (sg.then(sg.bias(columns), sg.relu, sg.scale(columns)), np.maximum(c + columns, 0) * columns),
        ]:
            for policy in [None, "strassen(host)", "reference"]:
                self.near(sg.gemm(a, b, epilogue=found, policy=policy), expected)
        x = sg.gemm(a, b, epilogue="gelu")
        self.assertTrue(((x > -0.2) & (x <= np.maximum(c, 0))).all())
        half = numbers(30).astype("float16")
        found = sg.gemm(a.astype("float16"), b.astype("float16"), epilogue=sg.bias(half))
        self.near(found, c + half, "float16")

    def test_policies(self):
        self.assertEqual(sg.policies()[0], "host")
        for kind in ["float32", "float64"]:
            a, b = numbers(70, 65, kind=kind), numbers(65, 80, kind=kind)
            for policy in sg.policies():
                if policy == "split(host)" and kind == "float64":
                    continue
                error = "float32" if kind == "float32" or policy == "ozaki(fp32)" else kind
                self.near(sg.gemm(a, b, policy=policy), a @ b, error)
        self.near(sg.gemm(a, b, policy=" strassen( host )"), a @ b, "float32" if kind == "float32" else kind)

    def test_other_buffers(self):
        a = memoryview(array.array("d", range(6))).cast("B").cast("d", (2, 3))
        b = numbers(3, 2)
        c = sg.gemm(a, b)
        self.assertIsInstance(c, sg.array)
        self.assertEqual((c.shape, c.dtype), ((2, 2), "float64"))
        self.near(np.asarray(c), np.arange(6.0).reshape(2, 3) @ b)
        self.assertEqual(bytes(c), np.asarray(c).tobytes())
        self.assertTrue(memoryview(c).c_contiguous)

    def test_memory_is_shared_and_freed(self):
        a = numbers(6, 7)
        c = sg.gemm(a, a.T)
        self.assertTrue(c.flags.writeable)
        view = memoryview(c.base)
        c[0, 0] = 5
        self.assertEqual(view[0, 0], 5)
        buffer = bytearray(80)
        sg.gemm(np.ones((2, 2)), np.ones((2, 2)), np.frombuffer(buffer, count=4).reshape(2, 2))
        buffer.clear()  # nothing holds it any more

    def test_empty(self):
        self.assertEqual(sg.gemm(np.ones((0, 3)), np.ones((3, 2))).shape, (0, 2))
        np.testing.assert_array_equal(sg.gemm(np.ones((2, 0)), np.ones((0, 2))), np.zeros((2, 2)))

    def test_explain_and_plan(self):
        a, b = numbers(30, 20), numbers(20, 40)
        self.assertIn("strassen", sg.explain(a, b, policy="strassen(host)"))
        plan = sg.plan(30, 40, 20, "float64", policy="strassen(host)")
        self.assertEqual(plan.describe(), sg.explain(a, b, policy="strassen(host)"))
        self.assertGreaterEqual(plan.workspace, 0)
        self.assertTrue(0 < plan.error_bound < 1e-9 and 0 < plan.seconds < 1)
        self.near(plan.run(a, b), a @ b)
        c = np.zeros((30, 40))
        self.assertIs(plan.run(a, b, c, alpha=2, epilogue="relu"), c)
        self.near(c, np.maximum(2 * a @ b, 0))
        batch = sg.plan(30, 40, 20, np.float32, count=3, add=True)
        x, y, e = numbers(3, 30, 20, kind="float32"), numbers(20, 40, kind="float32"), numbers(30, 40, kind="float32")
        self.near(batch.run(x, y, add=e), x @ y + e)

    def test_threads(self):
        a, b = numbers(300, 300), numbers(300, 300)
        expected, wrong = a @ b, []

        def multiply(plan):
            for _ in range(20):
                if np.abs(plan(a, b) - expected).max() > 1e-10:
                    wrong.append(plan)

        plan = sg.plan(300, 300, 300)
        threads = [threading.Thread(target=multiply, args=[f]) for f in [sg.gemm, plan.run] * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(wrong)


if __name__ == "__main__":
    unittest.main()
