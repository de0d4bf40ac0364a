// NVRTC, opened when it is first needed: kernels are compiled at run time, and also where there is no device.
#pragma once

#include "api.hpp"

#include <cstdlib>
#include <nvrtc.h>
#include <vector>

STRATAGEMM_BEGIN

#define STRATAGEMM_NVRTC_ENTRIES(X)                                                                          \
    X(nvrtcVersion)                                                                                          \
    X(nvrtcGetErrorString)                                                                                   \
    X(nvrtcGetNumSupportedArchs)                                                                             \
    X(nvrtcGetSupportedArchs)                                                                                \
    X(nvrtcCreateProgram)                                                                                    \
    X(nvrtcCompileProgram)                                                                                   \
    X(nvrtcDestroyProgram)                                                                                   \
    X(nvrtcGetProgramLogSize)                                                                                \
    X(nvrtcGetProgramLog)                                                                                    \
    X(nvrtcGetPTXSize)                                                                                       \
    X(nvrtcGetPTX)                                                                                           \
    X(nvrtcGetCUBINSize)                                                                                     \
    X(nvrtcGetCUBIN)

struct cuda_binary {
    std::string code; // for cuModuleLoadData
    std::string log;  // what the compiler said; with `report`, registers and spills as well
};

class cuda_compiler {
public:
    static cuda_compiler const& get() {
        static cuda_compiler const* const one = new cuda_compiler;
        return *one;
    }

    std::string const& missing() const { return missing_; } // why there is no compiler; empty if there is one
    std::string version() const { return std::to_string(major_) + '.' + std::to_string(minor_); }
    int number() const { return 1000 * major_ + 10 * minor_; } // as drivers have it: 12010

    // Compiles for an architecture such as sm_90a; if the compiler does not know the architecture, compiles to PTX for
    // the newest one that it knows. `exact`: a b + c is not contracted.
    result<cuda_binary> compile(std::string const& text, char const* name, std::string const& architecture,
                                bool exact = false, bool report = false) const {
        if (!missing_.empty()) return error(errc::unsupported, "cuda", missing_.c_str());
        bool const known = knows(architecture);
        std::string const target = "--gpu-architecture=" + (known ? architecture : newest());
        char const* options[] = {target.c_str(), "--std=c++17", "--device-as-default-execution-space",
                                 exact ? "--fmad=false" : "--fmad=true", "--ptxas-options=-v"};
        nvrtcProgram program = nullptr;
        nvrtcResult code = nvrtcCreateProgram(&program, text.c_str(), (std::string(name) + ".cu").c_str(), 0,
                                              nullptr, nullptr);
        if (code == NVRTC_SUCCESS) code = nvrtcCompileProgram(program, report ? 5 : 4, options);
        struct owner {
            cuda_compiler const& compiler;
            nvrtcProgram program;
            ~owner() {
                if (program) (void)compiler.nvrtcDestroyProgram(&program);
            }
        } const own{*this, program};
        cuda_binary made;
        std::size_t bytes = 0;
        if (program && nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1) {
            made.log.resize(bytes);
            (void)nvrtcGetProgramLog(program, made.log.data());
            made.log.pop_back();
        }
        auto const take = [&](auto size_of, auto get_from) {
            if (code == NVRTC_SUCCESS) code = size_of(program, &bytes);
            if (code != NVRTC_SUCCESS) return;
            made.code.resize(bytes);
            code = get_from(program, made.code.data());
        };
        if (known)
            take(nvrtcGetCUBINSize, nvrtcGetCUBIN);
        else
            take(nvrtcGetPTXSize, nvrtcGetPTX);
        if (code != NVRTC_SUCCESS)
            return error(errc::native, "cuda",
                         (std::string("the kernel '") + name + "' did not compile for " + architecture +
                          ": " + nvrtcGetErrorString(code) +
                          " (STRATAGEMM_DUMP=FOLDER writes its source); the log:\n" + made.log)
                             .c_str(),
                         code);
        return made;
    }

private:
    cuda_compiler() {
        void* library = nullptr;
        for (char const* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        // The library may be in the toolkit's folder, which the loader need not know.
        for (char const* variable : {"CUDA_HOME", "CUDA_PATH", ""}) {
            char const* const root = *variable ? std::getenv(variable) : "/usr/local/cuda";
            if (!library && root)
                library = dlopen((std::string(root) + "/lib64/libnvrtc.so").c_str(), RTLD_NOW | RTLD_LOCAL);
        }
        if (!library) {
            missing_ =
                "NVRTC, which compiles kernels, cannot be opened (libnvrtc.so); install the CUDA toolkit 12 "
                "or later, or name its folder in CUDA_HOME or LD_LIBRARY_PATH";
            return;
        }
#define STRATAGEMM_NVRTC_FIND(name)                                                                          \
    name = reinterpret_cast<decltype(name)>(dlsym(library, #name));                                          \
    if (!name) missing_ = "NVRTC has no " #name "; install the CUDA toolkit 12 or later";
        STRATAGEMM_NVRTC_ENTRIES(STRATAGEMM_NVRTC_FIND)
#undef STRATAGEMM_NVRTC_FIND
        if (!missing_.empty()) return;
        (void)nvrtcVersion(&major_, &minor_);
        int count = 0;
        (void)nvrtcGetNumSupportedArchs(&count);
        architectures_.resize(static_cast<std::size_t>(count));
        if (count > 0) (void)nvrtcGetSupportedArchs(architectures_.data());
    }

    // NVRTC lists numbers only. The letter of an architecture is part of its target whenever the number is.
    bool knows(std::string const& architecture) const {
        for (int const a : architectures_)
            if (std::atoi(architecture.c_str() + 3) == a) return true;
        return false;
    }
    std::string newest() const {
        return "compute_" + std::to_string(architectures_.empty() ? 75 : architectures_.back());
    }

#define STRATAGEMM_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
    STRATAGEMM_NVRTC_ENTRIES(STRATAGEMM_NVRTC_MEMBER)
#undef STRATAGEMM_NVRTC_MEMBER
    std::string missing_;
    int major_ = 0, minor_ = 0;
    std::vector<int> architectures_;
};
#undef STRATAGEMM_NVRTC_ENTRIES

STRATAGEMM_END
