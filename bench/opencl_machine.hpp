// The machine of OpenCL programs (opencl_machine.cpp), and their peer.
#pragma once

#include "machine.hpp"

#include <stratagemm/backend/opencl.hpp>

namespace bench {

std::unique_ptr<machine> make_opencl_machine(cl_command_queue, facts about);

// peers/clblast.cpp. tune_clblast looks for so many seconds for better parameters of its float products, and
// says what it found; those that it brings along for a device may be for another.
std::unique_ptr<contender> make_clblast(stratagemm::opencl const&);
void tune_clblast(stratagemm::opencl const&, double seconds);

} // namespace bench
