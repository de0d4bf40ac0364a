"""Arrays on a CUDA device: a device, or the CPU that stands in for one (tests/stand_in)."""

import ctypes as c
import sys
import unittest

import numpy as np
import stratagemm as sg
from capsules import Producer

try:
    driver = c.CDLL("libcuda.so.1")
except OSError:
    print("skipped: no driver of an NVIDIA device here")
    sys.exit(77)
rng = np.random.default_rng(8)


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
        OnDevice.memory = OnDevice.memory or pool()
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
        with self.assertRaisesRegex(ValueError, "names no policy: character 1 is wrong. Valid names: cuda, "):
            sg.gemm(x, x, policy="host")

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
            ((sg.toeplitz(np.ones(4)), x), TypeError, "more than an array are on the host"),
            ((x, x, x), ValueError, "C overlaps"),
        ]:
            with self.assertRaisesRegex(error, what):
                sg.gemm(*arguments)
        with self.assertRaisesRegex(ValueError, "works on the host"):
            sg.fft(x)


if __name__ == "__main__":
    unittest.main()
