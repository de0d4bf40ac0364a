"""Arrays by DLPack: capsules of both kinds into gemm(), and results out of it."""

import ctypes
import unittest

import numpy as np
import stratagemm as sg
from capsules import Exchanged, Given, OldImmutable, OldProducer, Producer, bfloat16

rng = np.random.default_rng(7)


class DLPack(unittest.TestCase):
    def test_capsules(self):
        for maker in [Producer, OldProducer]:
            for kind in ["float32", "float64", "complex64", "complex128", "float16"]:
                a, b = (rng.standard_normal(s).astype(kind) for s in [(5, 7), (6, 7)])
                c = np.zeros((6, 5), kind)
                x, y, z = maker(a), maker(b.T), maker(c.T)
                self.assertIs(sg.gemm(x, y, z), z)
                np.testing.assert_allclose(c.T, (a.astype("complex128") @ b.T), rtol=1e-2, atol=1e-2)
                self.assertEqual([p.alive for p in (x, y, z)], [0, 0, 0])
        self.assertEqual(x.asked, [{"stream": None}])
        z = OldImmutable(c.T)
        with self.assertRaisesRegex(ValueError, "out: it is read-only"):
            sg.gemm(x, y, z)
        self.assertEqual([p.alive for p in (x, y, z)], [0, 0, 0])
        y = Producer(a)
        sg.gemm(y, b.T)
        self.assertEqual(y.asked, [{"max_version": (1, 1)}])

    def test_exchange(self):
        a, b = rng.standard_normal((5, 7)), rng.standard_normal((7, 6))
        c = np.zeros((5, 6))
        x, y, z = Exchanged(a), Exchanged(b), Exchanged(c)
        self.assertIs(sg.gemm(x, y, z), z)
        np.testing.assert_allclose(c, a @ b)
        self.assertEqual([p.asked for p in (x, y, z)], [[], [], []])
        self.assertEqual([p.alive for p in (x, y, z)], [0, 0, 0])
        with self.assertRaisesRegex(ValueError, "out: it is read-only"):
            sg.gemm(a, b, Exchanged(c, flags=1))
        # Results go to the library of the operand in the same way.
        made = sg.gemm(x, b)
        self.assertIsInstance(made, Given)
        tensor = made.managed.tensor
        self.assertEqual((tensor.sides[0], tensor.sides[1]), (5, 6))
        self.assertEqual((ctypes.c_double * 30).from_address(tensor.data)[:], (a @ b).ravel().tolist())

    def test_exchange_leaves_what_only_dlpack_says(self):
        a = rng.standard_normal((3, 3))
        refused, old, differentiated = Exchanged(a), Exchanged(a, version=(2, 0)), Exchanged(a)
        refused.refuses = ValueError("not by this function")
        differentiated.requires_grad = True
        for x in (refused, differentiated, Exchanged(a + 1j)):
            self.assertIsInstance(sg.gemm(x, x), Given)
            self.assertEqual((x.asked[0], x.alive), ({"max_version": (1, 1)}, 0))
        with self.assertRaisesRegex(ValueError, "a: its capsule is of DLPack 2"):
            sg.gemm(old, a)
        self.assertEqual(old.alive, 1)  # the capsule, which nobody took

    def test_layout(self):
        a = rng.standard_normal((4, 6))
        part = Producer(a[1:3, 2:5], offset=16)
        whole = Producer(a, contiguous=True)
        np.testing.assert_allclose(np.asarray(sg.gemm(part, np.eye(3))), a[1:3, 2:5])
        np.testing.assert_allclose(np.asarray(sg.gemm(whole, np.eye(6))), a)

    def test_bfloat16(self):
        a, b = rng.standard_normal((5, 7)).astype("float32"), rng.standard_normal((7, 3)).astype("float32")
        made = sg.gemm(Producer(bfloat16(a), code=4), Producer(bfloat16(b), code=4))
        self.assertEqual((made.dtype, made.shape), ("bfloat16", (5, 3)))
        with self.assertRaises(BufferError):
            memoryview(made)
        # What was made is an operand again.
        c = np.zeros((5, 3), "float32")
        sg.gemm(made, Producer(bfloat16(np.eye(3)), code=4), c)
        np.testing.assert_allclose(c, a @ b, atol=0.1)

    def test_two_types(self):
        a, b, e = (rng.standard_normal(s).astype("float32") for s in [(2, 5, 7), (7, 3), (5, 3)])
        whole = rng.integers(-9, 9, (7, 3)).astype("int8")
        half, brain = a.astype("float16"), Producer(bfloat16(a), code=4)
        narrow = Producer(bfloat16(b), code=4)
        for x, y, expected in [(a, b.astype("float16"), a @ b), (half, b, a @ b), (a, narrow, a @ b), (brain, b, a @ b),
                               (half, whole, a @ whole), (brain, whole, a @ whole)]:
            made = np.asarray(sg.gemm(x, y))
            self.assertEqual(made.dtype, "float32")
            np.testing.assert_allclose(made, expected, rtol=0.05, atol=0.2)
            made = sg.gemm(x, y, alpha=2, add=e, epilogue=sg.bias(e[:, 0], along="rows"))
            np.testing.assert_allclose(made, 2 * expected + e + e[:, :1], rtol=0.05, atol=0.4)
        made = sg.gemm(whole.T, half[0].T, np.zeros((3, 5), "float32"))
        np.testing.assert_allclose(made, whole.T @ a[0].T, rtol=0.05, atol=0.2)
        for x, y, what in [(a, whole, "no product of float32 and int8"),
                           (a, b.astype("float64"), "no product of float32 and float64")]:
            with self.assertRaisesRegex(TypeError, what):
                sg.gemm(x, y)
        with self.assertRaisesRegex(TypeError, "multiplies no two element types here; 'host' does"):
            sg.gemm(a, b.astype("float16"), policy="strassen(host)")
        with self.assertRaisesRegex(TypeError, "explain: both operands have one element type"):
            sg.explain(a[0], b.astype("float16"))

    def test_results(self):
        a = rng.standard_normal((4, 6))
        made = sg.gemm(Producer(a), Producer(a.T))
        self.assertIsInstance(made, sg.array)
        self.assertEqual(made.__dlpack_device__(), (1, 0))
        taken, seen = np.from_dlpack(made), np.asarray(made)
        del made
        np.testing.assert_allclose(taken, a @ a.T)
        seen[0, 0] = 5
        self.assertEqual(taken[0, 0], 5)

    def test_capsules_out(self):
        made = sg.gemm(Producer(np.eye(2)), Producer(np.eye(2)))
        self.assertIn('"dltensor"', repr(made.__dlpack__()))
        self.assertIn('"dltensor"', repr(made.__dlpack__(max_version=(0, 8))))
        self.assertIn('"dltensor_versioned"', repr(made.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)))
        for wrong, error in [({"copy": True}, BufferError), ({"dl_device": (2, 0)}, BufferError),
                             ({"stream": 1}, ValueError), ({"max_version": 1}, TypeError)]:
            with self.assertRaises(error):
                made.__dlpack__(**wrong)

    def test_library_of_the_operand(self):
        class Namespace:
            from_dlpack = staticmethod(lambda x: ("taken", x))

        class Known(Producer):
            def __array_namespace__(self):
                return Namespace

        taken, made = sg.gemm(Known(np.eye(2)), np.eye(2))
        self.assertEqual(taken, "taken")
        self.assertIsInstance(made, sg.array)

    def test_refused(self):
        eye = np.eye(2)
        for wrong, error, what in [
            (Producer(eye, version=(2, 0)), ValueError, "a: its capsule is of DLPack 2"),
            (Producer(eye, device=(8, 0)), ValueError, "a: it lies on a device of kind 8"),
            (Producer(eye, code=6), TypeError, "a: its elements are of no type"),
        ]:
            with self.assertRaisesRegex(error, what):
                sg.gemm(wrong, eye)
        self.assertEqual(wrong.alive, 0)
        with self.assertRaisesRegex(ValueError, "out: it is read-only"):
            sg.gemm(eye, eye, Producer(eye.copy(), flags=1))
        with self.assertRaisesRegex(ValueError, "b: it lies on the host, and others on CUDA device 3"):
            sg.gemm(Producer(eye, device=(2, 3)), eye)

        class Broken:
            def __dlpack_device__(self):
                return 1, 0

            def __dlpack__(self, **_):
                raise KeyError("why")

        with self.assertRaises(KeyError):
            sg.gemm(Broken(), eye)


class Libraries(unittest.TestCase):
    """Those that are installed."""

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch here")
        a, b = torch.randn(5, 7, dtype=torch.float64), torch.randn(6, 7, dtype=torch.float64).T
        c = sg.gemm(a, b)
        self.assertIsInstance(c, torch.Tensor)
        torch.testing.assert_close(c, a @ b)
        out = torch.empty(5, 6, dtype=torch.float64)
        self.assertIs(sg.gemm(a, b, out), out)
        torch.testing.assert_close(out, a @ b)
        x = torch.randn(5, 7).bfloat16()
        torch.testing.assert_close(sg.gemm(x, x.T), x @ x.T, atol=0.1, rtol=0.1)
        x = torch.randn(4, 4, dtype=torch.complex64)
        torch.testing.assert_close(sg.gemm(x.conj().resolve_conj(), x), x.conj() @ x)
        for wrong in (x.conj(), torch.eye(4).requires_grad_()):
            with self.assertRaisesRegex(BufferError, "conjugate bit|require gradient"):
                sg.gemm(wrong, wrong)
        self.assertEqual(sg.plan(2, 2, 2, torch.float32).run(torch.eye(2), torch.eye(2)).dtype, torch.float32)

    def test_jax(self):
        try:
            import jax.numpy as jnp
        except ImportError:
            self.skipTest("no JAX here")
        a = jnp.arange(12.0).reshape(3, 4)
        c = sg.gemm(a, a.T)
        self.assertIsInstance(c, type(a))
        np.testing.assert_allclose(c, a @ a.T)
        with self.assertRaisesRegex(ValueError, "out: it is read-only"):
            sg.gemm(a, a.T, jnp.zeros((3, 3)))


if __name__ == "__main__":
    unittest.main()
