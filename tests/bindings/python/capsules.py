"""Arrays that exist as capsules of DLPack alone, made with ctypes: of NumPy's memory, or of a device's."""

import ctypes as c

import numpy as np


class Device(c.Structure):
    _fields_ = [("kind", c.c_int32), ("number", c.c_int32)]


class Element(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", Device), ("dimensions", c.c_int32), ("type", Element),
                ("sides", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("offset", c.c_uint64)]


DESTROY = c.CFUNCTYPE(None, c.c_void_p)


class Managed(c.Structure):
    _fields_ = [("tensor", Tensor), ("context", c.c_void_p), ("destroy", DESTROY)]


class Version(c.Structure):
    _fields_ = [("major", c.c_uint32), ("minor", c.c_uint32)]


class Versioned(c.Structure):
    _fields_ = [("version", Version), ("context", c.c_void_p), ("destroy", DESTROY), ("flags", c.c_uint64),
                ("tensor", Tensor)]


new_capsule = c.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]
CODES = {"f": 2, "c": 5, "i": 0}
PRODUCERS = []  # a consumer may hold a capsule for longer than anybody holds its producer


class Producer:
    """Something with __dlpack__ and without a buffer. `alive`: capsules that their consumer has not given back."""

    def __init__(self, data, address=None, device=(1, 0), version=(1, 1), flags=0, code=None, offset=0,
                 contiguous=False):
        self.array, self.address, self.device = data, address or data.ctypes.data, device
        self.version, self.flags, self.offset, self.contiguous = version, flags, offset, contiguous
        self.code = CODES[data.dtype.kind] if code is None else code
        self.asked, self.kept, self.alive = [], [], 0
        PRODUCERS.append(self)

    def __dlpack_device__(self):
        return self.device

    def tensor(self):
        n = self.array.ndim
        sides = (c.c_int64 * n)(*self.array.shape)
        strides = (c.c_int64 * n)(*(s // self.array.itemsize for s in self.array.strides))
        self.kept += [sides, strides]
        return Tensor(self.address - self.offset, Device(*self.device), n,
                      Element(self.code, 8 * self.array.itemsize, 1), sides,
                      None if self.contiguous else strides, self.offset)

    def kept_alive(self, managed):
        def destroy(_):
            self.alive -= 1

        managed.destroy = DESTROY(destroy)
        self.alive += 1
        self.kept += [managed, managed.destroy]
        return managed

    def managed(self):
        return self.kept_alive(
            Versioned(version=Version(*self.version), flags=self.flags, tensor=self.tensor()))

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        return new_capsule(c.addressof(self.managed()), b"dltensor_versioned", None)


class OldImmutable(Producer):
    """One that was written before DLPack 1.0, whose capsules do not say that nobody may write."""

    def __dlpack__(self, *, stream=None):
        self.asked.append({"stream": stream})
        return new_capsule(c.addressof(self.kept_alive(Managed(tensor=self.tensor()))), b"dltensor", None)


class OldProducer(OldImmutable):
    """The same, whose arrays may change."""

    def __iadd__(self, other):
        self.array += other
        return self


def bfloat16(x):
    """The bits of the nearest numbers of bfloat16."""
    bits = np.ascontiguousarray(x, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("int16")


class Exchange(c.Structure):
    """The functions that DLPack 1.3 adds, by which an array is taken without its __dlpack__."""

    TAKE = c.PYFUNCTYPE(c.c_int, c.py_object, c.POINTER(c.c_void_p))
    GIVE = c.PYFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(c.c_void_p))
    STREAM = c.PYFUNCTYPE(c.c_int, c.c_int32, c.c_int32, c.POINTER(c.c_void_p))
    _fields_ = [("version", Version), ("earlier", c.c_void_p), ("allocate", c.c_void_p), ("take", TAKE),
                ("give", GIVE), ("borrow", c.c_void_p), ("stream", STREAM)]

    def capsule(self):
        return new_capsule(c.addressof(self), b"dlpack_exchange_api", None)


class Given:
    """What a library of exchanges makes of an array that it is given."""

    def __init__(self, managed):
        self.managed = Versioned.from_address(managed)

    def __del__(self):
        self.managed.destroy(c.addressof(self.managed))


def _take(array, to):
    if array.refuses:
        raise array.refuses
    to[0] = c.addressof(array.managed())
    return 0


def _give(managed, to):
    made = Given(managed)
    c.pythonapi.Py_IncRef(c.py_object(made))
    to[0] = id(made)
    return 0


def _stream(kind, device, to):
    to[0] = Exchanged.working_on
    return 0


class Exchanged(Producer):
    """An array of a library that has these functions; those of a later version come first."""

    working_on = None  # the stream, for arrays on devices
    refuses = None
    functions = Exchange(Version(1, 3), None, None, Exchange.TAKE(_take), Exchange.GIVE(_give), None,
                         Exchange.STREAM(_stream))
    later = Exchange(Version(2, 0), c.addressof(functions))
    __dlpack_c_exchange_api__ = later.capsule()
