"""What the module asks the libraries whose arrays it is given."""

import sys


def _library_of(array):
    return type(array).__module__.partition(".")[0]


def as_arrays_of(like, made):
    """`made`, an array of this module, as the library of `like` has arrays; itself if that is not known."""
    library = _library_of(like)
    if library == "numpy":
        return sys.modules["numpy"].asarray(made)
    namespace = getattr(like, "__array_namespace__", None)
    known = namespace() if namespace else sys.modules.get(library)
    take = getattr(known, "from_dlpack", None)
    return take(made) if take else made


def stream_of(array):
    """The stream on which the library of a CUDA array works now, as DLPack counts; 1, the legacy default, if it does
    not say. And the object with which that stream ends, or None if it never does."""
    library = _library_of(array)
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream or 1, None
    if library == "cupy":
        stream = sys.modules["cupy"].cuda.get_current_stream()
        return stream.ptr or 1, stream
    return getattr(array, "__stream__", 0) or 1, None


def name_of_type(dtype):
    """The name of an element type, which may be a string, a dtype or a class of scalars."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return name.rpartition(".")[2]  # torch.float32
