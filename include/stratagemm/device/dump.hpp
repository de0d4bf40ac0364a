// STRATAGEMM_DUMP names a folder for what is compiled at run time: sources and binaries, for profilers and
// for the curious.
#pragma once

#include "program_key.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

STRATAGEMM_BEGIN

inline char const* dump_folder() {
    char const* const folder = std::getenv("STRATAGEMM_DUMP");
    return folder && *folder ? folder : nullptr;
}

// Writes `content` to FOLDER/NAME-KEY.EXTENSION if STRATAGEMM_DUMP names a folder.
inline void dump_program(program_key const& key, std::string const& name, char const* extension,
                         std::string_view content) {
    char const* const folder = dump_folder();
    if (!folder) return;
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::ofstream file(std::filesystem::path(folder) /
                           (name + '-' + program_key::name_of(key.text()).substr(0, 12) + extension),
                       std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

STRATAGEMM_END
