// `using namespace stratagemm` is safe beside POSIX headers: no name of the library's is one of theirs.
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include <stratagemm/algorithm/out_of_core.hpp>
#include <stratagemm/algorithm/ozaki.hpp>
#include <stratagemm/stratagemm.hpp>
#include <stratagemm/structure/csr.hpp>

using namespace stratagemm;

int main() {
    index_t const n = 4;
    matrix<float> a(n, n), b(n, n), c(n, n, layout::col_major);
    view<float> const v = row_major(b.data(), n, n, n);
    host const cpu{.threads = 1};
    gemm(cpu, 2, transposed(a), scaled(2, v), 1, c, then(relu, clamp(0.0f, 6.0f)));
    gemm(cpu, sum(a, v), b, c, scale(2.0f));
    gemm(strassen{cpu}, a, b, c);
    gemm(recursive{reference{}}, batched(a, 2, 0), conjugated(b),
         batched(strided(c.data(), 2, 2, 4, 1), 2, 8));
    shape<float> const s{n, n, n};
    auto const made = plan(split{cpu}, s);
    footprint const need = made.workspace();
    bound const most = made.error_bound();
    std::vector products{product(a, b, c)};
    status const done = try_gemm(cpu, products);
    spread<view<float>, 2> both;
    both.add(c.view(), 1);
    if (!done && done.error().code() == errc::memory) return 1;
    try {
        gemm(a, b, both);
        matrix<double> x(n, n), y(n, n);
        ozaki const emulated{cpu, {.accuracy = accuracy::fp64}};
        gemm(emulated, x, keep(emulated, x), y);
    } catch (error const&) {
        return 1;
    }
    half const h(1.0f);
    bfloat16 const w(1.0f);
    csr<float> const none{};
    return need.host > 0 || most.worst > 0 || float(h) + float(w) == 2 || none.rows == 0 ? 0 : 1;
}
