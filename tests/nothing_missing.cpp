#include "conformance/missing.hpp"

// Unit tests run everywhere.
std::string missing_here() { return {}; }
