#pragma once

#include <string>

// Why the instruction set in STRATAGEMM_ISA cannot be had here; empty if it can, or if none is set.
std::string missing_isa();
