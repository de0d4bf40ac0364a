// What compiling costs on this machine, for scale: a few headers of the standard library, of which nothing is used.
#include <complex>
#include <functional>
#include <string>
#include <vector>

int main() {}
