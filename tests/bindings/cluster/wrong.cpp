// A BLAS that multiplies wrongly: programs that check their results notice it.
extern "C" void dgemm_() {}
