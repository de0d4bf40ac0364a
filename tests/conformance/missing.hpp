#pragma once

#include <string>

// Why the tests of this program cannot run here; empty if they can.
std::string missing_here();
