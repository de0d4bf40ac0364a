// Children that tests make with fork().
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace support {

// Waits for a child and returns how it ended, as waitpid() tells it. LLVM's libomp removes its file in /dev/shm only in a
// process that calls exit(). A later process with the same number would read that file, and one that was left empty by a
// kill between two system calls ends the later process with SIGBUS.
inline int wait_for(pid_t child) {
    int how = -1;
    if (::waitpid(child, &how, 0) != child) return -1;
    std::string const file =
        "/dev/shm/__KMP_REGISTERED_LIB_" + std::to_string(child) + "_" + std::to_string(::getuid());
    ::unlink(file.c_str());
    return how;
}

} // namespace support
