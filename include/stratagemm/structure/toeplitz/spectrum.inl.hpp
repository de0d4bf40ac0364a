// Products with a spectrum, in one instruction set: backend/host/each_isa.inl.hpp includes this once for
// each.

template <class R>
STRATAGEMM_OP void spectrum_store(R* y, vec<R> re, vec<R> im, vec<R> sign, bool adds) {
    if (adds) re += load<R>(y), im += load<R>(y + lanes<R>);
    store<R>(y, re), store<R>(y + lanes<R>, im * sign);
}

template <class R>
STRATAGEMM_TARGET void times_even_and_odd(R const* z, R* y, R const* spectrum, index_t n, bool adds,
                                          bool conjugates) {
    constexpr index_t W = lanes<R>;
    R const minus_one = conjugates ? R(-1) : R(1);
    vec<R> const sign = broadcast<R>(&minus_one);
    for (index_t k = 0; k < n; ++k, spectrum += 4) {
        R const *const x = z + k * 2 * W, *const mirror = z + (k == 0 ? 0 : n - k) * 2 * W;
        vec<R> const pr = broadcast<R>(spectrum), pi = broadcast<R>(spectrum + 1),
                     qr = broadcast<R>(spectrum + 2), qi = broadcast<R>(spectrum + 3), xr = load<R>(x),
                     xi = load<R>(x + W), mr = load<R>(mirror), mi = load<R>(mirror + W);
        spectrum_store<R>(y + k * 2 * W, pr * xr - pi * xi + (qr * mr + qi * mi),
                          pr * xi + pi * xr + (qi * mr - qr * mi), sign, adds);
    }
}
template <class R>
STRATAGEMM_TARGET void times_spectrum(R const* z, R* y, R const* spectrum, index_t n, bool adds,
                                      bool conjugates) {
    constexpr index_t W = lanes<R>;
    R const minus_one = conjugates ? R(-1) : R(1);
    vec<R> const sign = broadcast<R>(&minus_one);
    for (index_t k = 0; k < n; ++k, spectrum += 2) {
        vec<R> const pr = broadcast<R>(spectrum), pi = broadcast<R>(spectrum + 1),
                     xr = load<R>(z + k * 2 * W), xi = load<R>(z + k * 2 * W + W);
        spectrum_store<R>(y + k * 2 * W, pr * xr - pi * xi, pr * xi + pi * xr, sign, adds);
    }
}

template <class R>
inline constexpr spectrum_kernels<R> spectrum_table{times_even_and_odd<R>, times_spectrum<R>};
