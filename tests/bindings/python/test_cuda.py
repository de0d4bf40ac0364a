"""Arrays on a CUDA device: a device, or the CPU that stands in for one (tests/stand_in)."""

import ctypes as c
import os
import sys
import types
import unittest
from unittest import mock

import numpy as np
import stratagemm as sg
from capsules import Exchanged, Given, Producer, bfloat16

try:
    driver = c.CDLL("libcuda.so.1")
except OSError:
    print("skipped: no driver of an NVIDIA device here")
    sys.exit(77)
rng = np.random.default_rng(8)
# The CPU compiles each kernel for longer than it runs.
ON_CPU = "STAND_IN_CAPABILITY" in os.environ
KINDS = ["float32", "complex128"] if ON_CPU else ["float32", "float64", "complex64", "complex128"]


def numbers(*shape, kind="float64"):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind.startswith("complex") else x).astype(kind)


def near(kind):
    return 1e-4 if kind in ("float32", "complex64") else 1e-12


def call(name, *arguments):
    function = getattr(driver, name + "_v2", None) or getattr(driver, name)
    code = function(*arguments)
    if code != 0:
        raise RuntimeError(f"{name}: {code}")


def pool():
    """A pool of memory of device 0, whose context is current from then on."""
    context, made = c.c_void_p(), c.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    properties = (c.c_int32 * 32)(1, 0, 1, 0)  # pinned; on a device, which is number 0
    call("cuMemPoolCreate", c.byref(made), properties)
    return made


class OnDevice(Producer):
    """A copy of an array in memory of the device."""

    memory = None

    def __init__(self, data, **options):
        address = c.c_uint64()
        self.bytes = max(data.nbytes, 1)
        call("cuMemAllocFromPoolAsync", c.byref(address), c.c_size_t(self.bytes), OnDevice.memory, None)
        data = np.ascontiguousarray(data)
        call("cuMemcpyHtoDAsync", address, c.c_void_p(data.ctypes.data), c.c_size_t(data.nbytes), None)
        super().__init__(data, address=address.value, device=(2, 0), **options)

    @property
    def T(self):
        other = Producer(self.array.T, address=self.address, device=(2, 0))
        other.of = self
        return other

    def values(self):
        return fetched(self.address, self.array.shape, self.array.dtype)


def fetched(address, shape, kind):
    to = np.empty(shape, kind)
    call("cuMemcpyDtoHAsync", c.c_void_p(to.ctypes.data), c.c_uint64(address), c.c_size_t(to.nbytes), None)
    call("cuStreamSynchronize", None)
    return to


def values_of(made, kind):
    """What a result of the module has, read through its capsule."""
    address = c.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = c.c_void_p, [c.py_object, c.c_char_p]
    capsule = made.__dlpack__()
    return fetched(c.c_uint64.from_address(address(capsule, b"dltensor")).value, made.shape, kind)


class Cuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        OnDevice.memory = pool()  # and a context, in which the tests make streams

    def test_products(self):
        for kind, error in [("float32", 1e-4), ("float64", 1e-12), ("complex64", 1e-4)]:
            a, b, e = (rng.standard_normal(s).astype(kind) for s in [(18, 16), (20, 16), (18, 20)])
            out = OnDevice(e)
            x, y = OnDevice(a), OnDevice(b).T
            self.assertIs(sg.gemm(x, y, out, alpha=2, beta=-1), out)
            np.testing.assert_allclose(out.values(), 2 * a @ b.T - e, rtol=error, atol=error)
            self.assertEqual([p.alive for p in (x, y, out)], [0, 0, 0])

    def test_results(self):
        a, b = rng.standard_normal((3, 18, 16)).astype("float32"), rng.standard_normal((16, 20)).astype("float32")
        made = sg.gemm(OnDevice(a), OnDevice(b))
        self.assertEqual((type(made), made.shape, made.__dlpack_device__()), (sg.array, (3, 18, 20), (2, 0)))
        np.testing.assert_allclose(values_of(made, "float32"), a @ b, rtol=1e-4, atol=1e-4)
        with self.assertRaises(BufferError):
            memoryview(made)
        # What was made is an operand again, by its capsule.
        again = sg.gemm(made, OnDevice(np.eye(20, dtype="float32")))
        np.testing.assert_allclose(values_of(again, "float32"), a @ b, rtol=1e-4, atol=1e-4)

    def test_epilogues(self):
        a, b = rng.standard_normal((18, 16)).astype("float32"), rng.standard_normal((16, 20)).astype("float32")
        v = rng.standard_normal(20).astype("float32")
        made = sg.gemm(OnDevice(a), OnDevice(b), epilogue=sg.then(sg.bias(OnDevice(v)), sg.clamp(0, 3), sg.scale(2)))
        np.testing.assert_allclose(values_of(made, "float32"), 2 * np.clip(a @ b + v, 0, 3), rtol=1e-4, atol=1e-4)
        with self.assertRaisesRegex(ValueError, "its values lie elsewhere"):
            sg.gemm(OnDevice(a), OnDevice(b), epilogue=sg.bias(v))
        with self.assertRaisesRegex(TypeError, "in the type in which"):
            sg.gemm(OnDevice(a), OnDevice(b), epilogue=sg.bias(OnDevice(v.astype("float64"))))

    def test_exchange_on_streams(self):
        class Here(OnDevice, Exchanged):
            pass

        a, stream = rng.standard_normal((4, 4)).astype("float32"), c.c_void_p()
        call("cuStreamCreate", c.byref(stream), 1)
        x = Here(a)
        call("cuStreamSynchronize", None)
        with mock.patch.object(Exchanged, "working_on", stream.value):
            made = sg.gemm(x, x)  # on the stream on which the library works: nothing waits
            self.assertIsInstance(made, Given)
            self.assertEqual((x.asked, made.managed.tensor.device.kind), ([], 2))
            call("cuStreamSynchronize", stream)
            got = fetched(made.managed.tensor.data, (4, 4), "float32")
            np.testing.assert_allclose(got, a @ a, rtol=1e-4, atol=1e-4)
            other = sg.gemm(x, x, stream=1)  # on another one, for which __dlpack__ has the work done
            self.assertIsInstance(other, sg.array)
            self.assertEqual([asked["stream"] for asked in x.asked], [1, 1])
            np.testing.assert_allclose(values_of(other, "float32"), a @ a, rtol=1e-4, atol=1e-4)
        self.assertEqual(x.alive, 0)

    def test_streams(self):
        a = OnDevice(np.eye(16, dtype="float32"))
        sg.gemm(a, a, OnDevice(np.zeros((16, 16), "float32")))
        self.assertEqual(a.asked[-1], {"stream": 1, "max_version": (1, 1)})
        stream = c.c_void_p()
        call("cuStreamCreate", c.byref(stream), 1)
        made = sg.gemm(a, a, stream=stream.value)
        self.assertEqual(a.asked[-1]["stream"], stream.value)
        for asked in [None, 1, 2, -1, stream.value]:
            made.__dlpack__(stream=asked, max_version=(1, 1), dl_device=(2, 0))

        class OnStream(OnDevice):
            __stream__ = 2

        b = OnStream(np.eye(16, dtype="float32"))
        sg.gemm(b, a)  # A's library says on which stream it works
        self.assertEqual((b.asked[-1]["stream"], a.asked[-1]["stream"]), (2, 2))

    def test_policies(self):
        self.assertEqual(sg.policies("cuda")[0], "cuda")
        a = rng.standard_normal((20, 20))
        x = OnDevice(a)
        self.assertIn("cuda: ", sg.explain(x, x))
        for policy in sg.policies("cuda"):
            made = sg.gemm(x, x, policy=policy)
            np.testing.assert_allclose(values_of(made, "float64"), a @ a, rtol=1e-12, atol=1e-12)
        with self.assertRaisesRegex(ValueError, "for arrays on the host, .* lie on a CUDA device. Valid names: cuda, "):
            sg.gemm(x, x, policy="host")

    def test_narrow_into_float(self):
        a, b = numbers(18, 16, kind="float32"), numbers(16, 20, kind="float32")
        halves = [OnDevice(x.astype("float16")) for x in (a, b)]
        brains = [OnDevice(bfloat16(x), code=4) for x in (a, b)]
        for x, y in [halves, brains]:
            out = OnDevice(np.zeros((18, 20), "float32"))
            sg.gemm(x, y, out)
            np.testing.assert_allclose(out.values(), a @ b, rtol=0.05, atol=0.1)
        plan = sg.plan(18, 20, 16, "bfloat16", out_dtype="float32", device="cuda")
        plan.run(*brains, out)
        np.testing.assert_allclose(out.values(), a @ b, rtol=0.05, atol=0.1)

    def test_two_types(self):
        a, b, rows = numbers(18, 16, kind="float32"), numbers(16, 20, kind="float32"), numbers(18, kind="float32")
        whole = rng.integers(-9, 9, (16, 20)).astype("int8")
        brain = OnDevice(bfloat16(a), code=4)
        for x, y, expected in [(OnDevice(a), OnDevice(b.astype("float16")), a @ b),
                               (brain, OnDevice(b), a @ b), (brain, OnDevice(whole), a @ whole)]:
            made = sg.gemm(x, y, epilogue=sg.bias(OnDevice(rows), along="rows"))
            self.assertEqual(made.dtype, "float32")
            np.testing.assert_allclose(values_of(made, "float32"), expected + rows[:, None], rtol=0.05, atol=0.5)
        with self.assertRaisesRegex(TypeError, "multiplies no two element types here; 'cuda' does"):
            sg.gemm(brain, OnDevice(b), policy="ozaki(cuda)")

    def test_plans(self):
        a, b, e = numbers(2, 18, 16), numbers(2, 16, 20), numbers(2, 18, 20)
        x, y = OnDevice(a), OnDevice(b)
        for policy in ["cuda", "strassen(cuda)", "automatic(cuda)"]:
            plan = sg.plan(18, 20, 16, count=2, add=True, device="cuda:0", policy=policy)
            self.assertIn("cuda: ", plan.describe())
            self.assertGreater(plan.seconds, 0)
            self.assertGreater(plan.error_bound, 0)
            self.assertGreaterEqual(plan.workspace, 0)
            stream = c.c_void_p()
            call("cuStreamCreate", c.byref(stream), 1)
            for on in [None, stream.value, 2]:
                out = OnDevice(e)
                plan.run(x, y, out, alpha=2, beta=-1, epilogue="relu", stream=on)
                call("cuStreamSynchronize", c.c_void_p(on))
                np.testing.assert_allclose(out.values(), np.maximum(2 * a @ b - e, 0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(values_of(plan.run(x, y), "float64"), a @ b, rtol=1e-12, atol=1e-12)
            for arguments, error, what in [
                ((a, b), ValueError, "made for CUDA device 0, and these arrays lie on the host"),
                ((x, OnDevice(numbers(2, 16, 21))), ValueError, "made for 18 x 20 x 16"),
                ((OnDevice(a.astype("float32")),) * 2, TypeError, "made for float64"),
            ]:
                with self.assertRaisesRegex(error, what):
                    plan.run(*arguments)
        with self.assertRaisesRegex(ValueError, "made for the host, and these arrays lie on CUDA device 0"):
            sg.plan(18, 20, 16).run(x, y)
        for arguments, what in [({"device": "gpu"}, "'gpu' is none"), ({"device": "cuda:x"}, "is none"),
                                ({"device": "cuda", "policy": "host"}, "Valid names: cuda"),
                                ({"device": "cuda", "dtype": "int32"}, "no product of int32")]:
            with self.assertRaisesRegex((ValueError, TypeError), what):
                sg.plan(2, 2, 2, **arguments)

    def all_sides(self, operand, dense):
        """The operand and its transposes, on the left and on the right."""
        kind = str(dense.dtype)
        for x, d in [(operand, dense), (operand.T, dense.T), (operand.conj(), dense.conj())]:
            a, b = numbers(4, d.shape[0], kind=kind), numbers(2, d.shape[1], 5, kind=kind)
            e, rows = numbers(2, d.shape[0], 5, kind=kind), numbers(d.shape[0], kind=kind)
            made = sg.gemm(OnDevice(a), x)
            np.testing.assert_allclose(values_of(made, kind), a @ d, rtol=near(kind), atol=10 * near(kind))
            out = OnDevice(e)
            sg.gemm(x, OnDevice(b), out, alpha=2, beta=-1, epilogue=sg.bias(OnDevice(rows), along="rows"))
            np.testing.assert_allclose(out.values(), 2 * (d @ b) - e + rows[:, None], rtol=near(kind),
                                       atol=10 * near(kind))

    def csr(self, dense, index="int32", spoil=0):
        rows, columns = np.nonzero(dense)
        begins = np.searchsorted(rows, np.arange(dense.shape[0] + 1)).astype(index)
        columns = columns.astype(index)
        columns[-1] += spoil
        return sg.csr(OnDevice(dense[rows, columns * (spoil == 0)]), OnDevice(columns), OnDevice(begins), dense.shape)

    def test_csr(self):
        for kind in KINDS:
            dense = (numbers(13, 17, kind=kind) * (rng.random((13, 17)) < 0.3)).astype(kind)
            self.all_sides(self.csr(dense, "int64" if kind == "float32" else "int32"), dense)
        with self.assertRaisesRegex(ValueError, "csr: a column"):
            self.csr(dense, spoil=99)
        with self.assertRaisesRegex(ValueError, "indices: it lies on the host, and others on CUDA device 0"):
            sg.csr(OnDevice(np.ones(1)), np.zeros(1, "int32"), np.array([0, 1], "int32"), (1, 1))

    def test_toeplitz(self):
        for kind in KINDS:
            column, row = numbers(12, kind=kind), numbers(17, kind=kind)
            i, j = np.indices((12, 17))
            dense = np.where(i >= j, column[(i - j) * (i >= j)], row[(j - i) * (i < j)])
            self.all_sides(sg.toeplitz(OnDevice(column), OnDevice(row)), dense)
            by_transforms = sg.toeplitz(OnDevice(column), OnDevice(row), by_transforms=True)
            b = numbers(17, 5, kind=kind)
            made = sg.gemm(by_transforms, OnDevice(b))
            np.testing.assert_allclose(values_of(made, kind), dense @ b, rtol=near(kind), atol=10 * near(kind))

    def test_factored(self):
        for kind in KINDS:
            u, v = numbers(13, 3, kind=kind), numbers(3, 11, kind=kind)
            self.all_sides(sg.factored(OnDevice(u), OnDevice(v)), u @ v)

    def test_operands_on_streams(self):
        column = np.arange(1.0, 5, dtype="float32")
        x, stream = OnDevice(column), c.c_void_p()
        call("cuStreamCreate", c.byref(stream), 1)
        operand = sg.toeplitz(x)
        self.assertEqual(x.asked, [{"stream": 1, "max_version": (1, 1)}])
        made = sg.gemm(operand, OnDevice(np.eye(4, dtype="float32")), stream=stream.value)  # which waits for stream 1
        expected = column[np.abs(np.subtract.outer(np.arange(4), np.arange(4)))]
        np.testing.assert_array_equal(values_of(made, "float32"), expected)
        with self.assertRaisesRegex(TypeError, "'cuda' does"):
            sg.gemm(operand, OnDevice(np.eye(4, dtype="float32")), policy="strassen(cuda)")

    def test_fft(self):
        for kind in KINDS:
            x = numbers(3, 12, kind=kind)
            complex_kind = {"float32": "complex64", "float64": "complex128"}.get(kind, kind)
            made = sg.fft(OnDevice(x))
            self.assertEqual((made.dtype, made.shape), (complex_kind, (3, 12)))
            back, error = sg.ifft(made), 10 * near(kind)
            np.testing.assert_allclose(values_of(made, complex_kind), np.fft.fft(x), rtol=error, atol=error)
            np.testing.assert_allclose(values_of(back, complex_kind), x, rtol=error, atol=error)
        out = OnDevice(numbers(3, 12, kind="complex128"))
        before = out.values()
        self.assertIs(sg.fft(out, axis=0, out=out), out)
        np.testing.assert_allclose(out.values(), np.fft.fft(before, axis=0), rtol=1e-12, atol=1e-12)
        with self.assertRaisesRegex(ValueError, "out: it lies on the host, and x on CUDA device 0"):
            sg.fft(out, out=before)

    def test_low_rank(self):
        for kind in KINDS[:1] if ON_CPU else KINDS:
            a = numbers(60, 6, kind=kind) @ numbers(6, 80, kind=kind)
            u, v = factors = sg.low_rank(OnDevice(a), tolerance=1e-3)  # which may take a few columns more than it needs
            self.assertTrue(6 <= factors.rank < 12, factors.rank)
            self.assertEqual((u.shape, v.shape), ((60, factors.rank), (factors.rank, 80)))
            self.assertLess(factors.bound, 1e-3)
            product = values_of(u, kind) @ values_of(v, kind)
            self.assertLess(np.linalg.norm(product - a), 1e-3 * np.linalg.norm(a))
            b = numbers(80, 3, kind=kind)
            made = sg.gemm(factors.operand(), OnDevice(b))
            np.testing.assert_allclose(values_of(made, kind), a @ b, rtol=0.05, atol=0.1)

    def test_dead_stream(self):
        """Last of all: a driver may take such a handle for another stream, or end the process."""
        program = os.environ.get("DEAD_STREAM")
        if not (ON_CPU or program):
            self.skipTest("the driver says what becomes of a stream that is none; DEAD_STREAM=1 asks it")
        x, stream = OnDevice(np.eye(4)), c.c_void_p()
        call("cuStreamCreate", c.byref(stream), 1)
        dead = stream.value
        call("cuStreamDestroy", stream)
        out = OnDevice(np.full((4, 4), 7.0))
        for call_it in [lambda: sg.gemm(x, x, out, stream=dead), lambda: sg.gemm(x, x, stream=dead),
                        lambda: sg.plan(4, 4, 4, device="cuda", policy="strassen(cuda)").run(x, x, out, stream=dead)]:
            with self.assertRaisesRegex(RuntimeError, "cuda"):
                call_it()
        np.testing.assert_array_equal(out.values(), np.full((4, 4), 7.0))
        np.testing.assert_array_equal(values_of(sg.gemm(x, x), "float64"), np.eye(4))  # and the device goes on

    def test_streams_that_end(self):
        """A stream of CuPy's ends with its object. Memory that is given back on it later would end the process."""
        ended = []

        class Stream:
            def __init__(self):
                stream = c.c_void_p()
                call("cuStreamCreate", c.byref(stream), 1)
                self.ptr = stream.value

            def __del__(self):
                ended.append(self.ptr)
                call("cuStreamDestroy", c.c_void_p(self.ptr))

        library = types.ModuleType("cupy")
        library.from_dlpack = lambda made: [made]
        streams = [Stream()]
        library.cuda = types.SimpleNamespace(get_current_stream=lambda: streams[-1])
        cupy_array = type("ndarray", (OnDevice,), {"__module__": "cupy"})
        a, column = numbers(6, 6), np.arange(1.0, 7)
        with mock.patch.dict(sys.modules, cupy=library):
            x, plan = cupy_array(a), sg.plan(6, 6, 6, device="cuda", policy="strassen(cuda)")
            kept = [sg.gemm(x, x)[0], sg.toeplitz(cupy_array(column)), plan, plan.run(x, x)[0]]
            first = streams.pop().ptr
            self.assertEqual(ended, [])
            streams.append(Stream())
            again = [sg.gemm(kept[1], x)[0], plan.run(x, x)[0]]  # which wait for the first stream
            call("cuStreamSynchronize", c.c_void_p(streams[0].ptr))
            toeplitz = column[np.abs(np.subtract.outer(np.arange(6), np.arange(6)))]
            for made, expected in [(kept[0], a @ a), (kept[3], a @ a), (again[0], toeplitz @ a), (again[1], a @ a)]:
                np.testing.assert_allclose(values_of(made, "float64"), expected, rtol=1e-12, atol=1e-12)
            self.assertEqual(ended, [])
            del made, kept
            self.assertEqual(ended, [first])

    def test_like_cupy(self):
        """An array of a library named cupy: its current stream, and its from_dlpack() for results."""
        stream = c.c_void_p()
        call("cuStreamCreate", c.byref(stream), 1)
        library = types.ModuleType("cupy")
        library.from_dlpack = lambda made: ("taken", made)
        current = types.SimpleNamespace(ptr=stream.value)
        library.cuda = types.SimpleNamespace(get_current_stream=lambda: current)
        cupy_array = type("ndarray", (OnDevice,), {"__module__": "cupy"})
        a = numbers(6, 5)
        with mock.patch.dict(sys.modules, cupy=library):
            x = cupy_array(a)
            taken, made = sg.gemm(x, x.T)
            self.assertEqual((taken, x.asked[-1]["stream"]), ("taken", stream.value))
            current.ptr = 0  # the default stream, which DLPack calls 1
            sg.gemm(x, x.T)
            self.assertEqual(x.asked[-1]["stream"], 1)
        np.testing.assert_allclose(values_of(made, "float64"), a @ a.T, rtol=1e-12, atol=1e-12)

    def test_cupy(self):
        try:
            import cupy
            import cupyx.scipy.sparse as sparse
        except ImportError:
            self.skipTest("no CuPy here")
        a, b = cupy.random.standard_normal((30, 20)), cupy.random.standard_normal((20, 10))
        with cupy.cuda.Stream(non_blocking=True) as stream:
            made, out = sg.gemm(a, b), cupy.empty((30, 10))
            self.assertIsInstance(made, cupy.ndarray)
            self.assertIs(sg.gemm(a, b, out, epilogue="relu"), out)
            cupy.testing.assert_allclose(made, a @ b, rtol=1e-12, atol=1e-12)
            cupy.testing.assert_allclose(out, cupy.maximum(a @ b, 0), rtol=1e-12, atol=1e-12)
            s = sparse.random(40, 30, 0.2, "csr")
            cupy.testing.assert_allclose(sg.gemm(sg.csr(s), a), s @ a, rtol=1e-12, atol=1e-12)
            cupy.testing.assert_allclose(sg.fft(a), cupy.fft.fft(a), rtol=1e-12, atol=1e-12)
            stream.synchronize()

    def test_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("no JAX here")
        if jax.default_backend() != "gpu":
            self.skipTest("JAX finds no device")
        a = jax.numpy.arange(300.0).reshape(15, 20)
        made = sg.gemm(a, a.T)
        self.assertIsInstance(made, type(a))
        np.testing.assert_allclose(made, np.asarray(a) @ np.asarray(a).T, rtol=1e-4)

    def test_torch_structures(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch here")
        if not torch.cuda.is_available():
            self.skipTest("torch finds no device")
        a = torch.randn(300, 200, device="cuda", dtype=torch.float64)
        b = torch.randn(200, 40, device="cuda", dtype=torch.float64)
        sparse = (a * (torch.rand_like(a) < 0.1)).to_sparse_csr()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
            torch.testing.assert_close(sg.gemm(sg.csr(sparse), b), sparse @ b)
            torch.testing.assert_close(sg.fft(a), torch.fft.fft(a))
            factors = sg.low_rank(a @ b @ b.T, rank=40)
            torch.testing.assert_close(factors[0] @ factors[1], a @ b @ b.T)
            torch.testing.assert_close(sg.gemm(factors.operand(), b), a @ b @ b.T @ b)
            plan = sg.plan(300, 40, 200, torch.bfloat16, out_dtype=torch.float32, device=a.device)
            x, y, out = a.bfloat16(), b.bfloat16(), torch.empty(300, 40, device="cuda")
            torch.testing.assert_close(plan.run(x, y, out), (x.float() @ y.float()), rtol=1e-3, atol=1e-3)
        torch.cuda.synchronize()

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch here")
        if not torch.cuda.is_available():
            self.skipTest("torch finds no device")
        a, b = torch.randn(300, 200, device="cuda"), torch.randn(7, 200, 100, device="cuda")
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        for stream in [torch.cuda.current_stream(), other]:
            with torch.cuda.stream(stream):
                for x, y in [(a, b), (a.bfloat16(), b.bfloat16()), (a.double(), b.double())]:
                    expected = x @ y
                    made, out = sg.gemm(x, y), torch.empty_like(expected)
                    self.assertEqual(made.device, x.device)
                    sg.gemm(x, y, out, epilogue="relu")
                    torch.testing.assert_close(made, expected, rtol=0.02, atol=0.02)
                    torch.testing.assert_close(out, expected.relu(), rtol=0.02, atol=0.02)

    def test_refused(self):
        a = np.eye(4)
        x = OnDevice(a)
        for arguments, error, what in [
            ((x, a), ValueError, "b: it lies on the host, and others on CUDA device 0"),
            ((a, a, x), ValueError, "out: it lies on CUDA device 0, and others on the host"),
            ((x, OnDevice(np.eye(5))), ValueError, "gemm: A is 4 x 4, B is 5 x 5"),
            ((x, OnDevice(np.eye(4, dtype="float32"))), TypeError, "on CUDA devices there is no product"),
            ((sg.toeplitz(np.ones(4)), x), ValueError, "b: it lies on CUDA device 0, and others on the host"),
            ((x, x, x), ValueError, "C overlaps"),
        ]:
            with self.assertRaisesRegex(error, what):
                sg.gemm(*arguments)


if __name__ == "__main__":
    unittest.main()
