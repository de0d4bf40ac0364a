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

    def capsule(self, managed, name):
        def destroy(_):
            self.alive -= 1

        managed.destroy = DESTROY(destroy)
        self.alive += 1
        self.kept += [managed, managed.destroy]
        return new_capsule(c.addressof(managed), name, None)

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        managed = Versioned(version=Version(*self.version), flags=self.flags, tensor=self.tensor())
        return self.capsule(managed, b"dltensor_versioned")


class OldProducer(Producer):
    """One that was written before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        self.asked.append({"stream": stream})
        return self.capsule(Managed(tensor=self.tensor()), b"dltensor")


def bfloat16(x):
    """The bits of the nearest numbers of bfloat16."""
    bits = np.ascontiguousarray(x, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("int16")
