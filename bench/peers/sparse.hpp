// Peers of sparse products on the host: C = A B with A by rows and B and C by rows. Each is in a translation unit of
// its own, and no std:: type crosses (see kernels.hpp).
#pragma once

namespace bench {

// The arrays of a matrix by rows. T is float or double.
template <class T>
struct sparse_problem {
    long rows, cols, nonzeros, n; // columns of B
    int const *begins, *columns;
    T const* values;
    T const* b;
    T* c;
    int threads;
};

// A library: prepare() is not timed, and makes what the library wants to keep of A; release() ends that.
struct sparse_peer {
    char const* name;
    bool counts; // for the ratio; otherwise it is shown for information
    void* (*prepare32)(sparse_problem<float> const&);
    void* (*prepare64)(sparse_problem<double> const&);
    void (*run32)(sparse_problem<float> const&, void* kept);
    void (*run64)(sparse_problem<double> const&, void* kept);
    void (*release)(void* kept);

    void* prepare(sparse_problem<float> const& p) const { return prepare32(p); }
    void* prepare(sparse_problem<double> const& p) const { return prepare64(p); }
    void run(sparse_problem<float> const& p, void* kept) const { run32(p, kept); }
    void run(sparse_problem<double> const& p, void* kept) const { run64(p, kept); }
};

extern sparse_peer const sparse_eigen, sparse_librsb;
// MKL, opened at run time; null where it is not installed. Its inspector may keep A in another format.
sparse_peer const* open_sparse_mkl(bool with_inspector);

} // namespace bench
