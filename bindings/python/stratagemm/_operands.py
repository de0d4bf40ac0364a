"""Operands that are more than an array, and functions that NumPy and SciPy have, too."""

from . import _core


def csr(matrix, indices=None, indptr=None, shape=None):
    """A sparse matrix by rows, as an operand: of SciPy or CuPy (csr_array, csr_matrix), of torch (sparse_csr), or of
    three arrays and a shape.

    The arrays are borrowed. They must not change while the operand is used.
    """
    if indices is None:
        if str(getattr(matrix, "layout", None)) == "torch.sparse_csr":
            parts = matrix.values(), matrix.col_indices(), matrix.crow_indices()
        elif getattr(matrix, "format", None) == "csr":
            parts = matrix.data, matrix.indices, matrix.indptr
        else:
            raise TypeError("csr: it takes a sparse matrix of SciPy, CuPy or torch in the format csr (tocsr(), "
                            "to_sparse_csr()), or data, indices, indptr and shape")
        return _core.csr(*parts, *matrix.shape)
    if indptr is None or shape is None:
        raise TypeError("csr: data, indices, indptr and shape go together")
    return _core.csr(matrix, indices, indptr, *shape)


def toeplitz(column, row=None, *, by_transforms=False):
    """A Toeplitz matrix as an operand, from its first column and row, as scipy.linalg.toeplitz has them.

    by_transforms: products by Fourier transforms, which are less work for large matrices; the error is relative to the
    largest elements then.
    """
    return _core.toeplitz(column, row, by_transforms)


def factored(u, v):
    """The product of two matrices as an operand, which is never written out."""
    return _core.factored(u, v)


def ifft(x, *, axis=-1, out=None):
    """The inverse of fft(), divided by the number of points, as NumPy has it."""
    return _core.fft(x, axis=axis, out=out, inverse=True)


class Factors(tuple):
    """U and V, whose product is near a matrix; with the estimated error and a bound of it, both relative, and the
    product as an operand."""

    error: float
    bound: float

    def __new__(cls, u, v, error, bound):
        self = super().__new__(cls, (u, v))
        self.error, self.bound = error, bound
        return self

    @property
    def rank(self):
        return self[0].shape[1]

    def operand(self):
        return factored(*self)


def low_rank(a, *, tolerance=0.0, rank=0, confidence=0.999, seed=0):
    """Factors U and V of a matrix, to a tolerance of |A - U V| / |A| or of a rank, with a certificate."""
    return Factors(*_core.low_rank_factors(a, tolerance=tolerance, rank=rank, confidence=confidence, seed=seed))
