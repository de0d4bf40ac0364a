// NVRTC's interface over the C++ compiler that built this. It compiles each kernel to a shared library.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nvrtc.h>
#include <regex>
#include <string>
#include <unistd.h>
#include <vector>

struct _nvrtcProgram {
    std::string text, kernel, code, log;
};

namespace {

std::string contents(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// One past the bracket that closes the one at `at`. Brackets in strings do not count.
std::size_t past_bracket(std::string const& s, std::size_t at) {
    int depth = 0;
    bool quoted = false;
    for (; at < s.size(); ++at) {
        char const c = s[at];
        if (quoted && c == '\\')
            ++at;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '(' || c == '[' || c == '{'))
            ++depth;
        else if (!quoted && (c == ')' || c == ']' || c == '}') && --depth == 0)
            return at + 1;
    }
    return s.size();
}

// Splits `s` at separators that are neither in brackets nor in strings.
std::vector<std::string> parts(std::string const& s, char separator) {
    std::vector<std::string> all(1);
    bool quoted = false;
    for (std::size_t at = 0; at < s.size(); ++at) {
        char const c = s[at];
        if (!quoted && (c == '(' || c == '[' || c == '{')) {
            std::size_t const end = past_bracket(s, at);
            all.back() += s.substr(at, end - at);
            at = end - 1;
        } else if (!quoted && c == separator) {
            all.emplace_back();
        } else {
            all.back() += c;
            if (quoted && c == '\\') all.back() += s[++at];
            if (c == '"') quoted = !quoted;
        }
    }
    return all;
}

// The name of the function for an instruction, or for the first of a block of them in braces.
std::string name_of(std::string const& text) {
    static std::regex const first("^\"(?:\\{|\\\\n|\\.reg[^;]*;|[A-Z]+:)*([a-zA-Z0-9_.:]*)");
    std::smatch m;
    std::regex_search(text, m, first);
    return std::regex_replace(m[1].str(), std::regex("[.:]"), "_");
}

// asm("a.b::c %0, %1;" : "=f"(x) : "r"(y) : "memory") becomes a_b__c("...", (x), (y)).
std::string as_call(std::string const& inside) {
    std::vector<std::string> const sections = parts(inside, ':');
    std::string const text = sections[0].substr(sections[0].find('"'));
    std::string const name = name_of(text);
    if (text == "\"\"" || text == "\"\" ")
        return "((void)0)"; // only tells the compiler that something is used
    std::string call = (name.empty() ? "instruction_without_a_name" : name) + '(' + text;
    for (std::size_t i = 1; i < sections.size() && i < 3; ++i)
        for (std::string const& operand : parts(sections[i], ','))
            if (std::size_t const at = operand.find('('); at != std::string::npos)
                call += ", " + operand.substr(at);
    return call + ')';
}

// The source as C++, with a function that calls the kernel with the arguments that a launch gives.
std::string as_host_code(std::string const& source, std::string const& kernel) {
    std::string s = source, done;
    s = std::regex_replace(s, std::regex("extern __shared__[^;]*char memory\\[\\];"),
                           "char *memory = stand_in_now->shared;");
    // Each block of a cluster has its own.
    s = std::regex_replace(s, std::regex("__shared__ (\\w+) (\\w+);"),
                           "static $1 $2_of[8]; $1 &$2 = $2_of[stand_in_now->in_cluster];");
    s = std::regex_replace(s, std::regex("#pragma unroll[^\n]*"), "");
    static std::regex const instruction("\\basm( volatile)?\\(");
    for (std::smatch m; std::regex_search(s, m, instruction);) {
        std::size_t const at = static_cast<std::size_t>(m.position()),
                          open = at + static_cast<std::size_t>(m.length()) - 1;
        std::size_t const end = past_bracket(s, open);
        done += s.substr(0, at) + as_call(s.substr(open + 1, end - open - 2));
        s.erase(0, end);
    }
    s = done + s;
    for (std::size_t at; (at = s.find("__launch_bounds__(")) != std::string::npos;)
        s.erase(at, past_bracket(s, at) - at);
    std::string const call = "extern \"C\" STAND_IN_SEEN void stand_in_" + kernel +
                             "(void** p) { stand_in_call(kernel::" + kernel + ", p); }\n";
    return "#include \"" STAND_IN_HEADER "\"\nnamespace kernel {\n" + s + "\n}\n" + call;
}

// Compiles `source`, unless a test did so before: libraries stay in STAND_IN_KERNELS, each beside its source.
bool compile(_nvrtcProgram& program, std::string const& source, std::string const& flags) {
    namespace fs = std::filesystem;
    std::error_code failed;
    std::size_t const key = std::hash<std::string>{}(flags + contents(STAND_IN_DEVICE) + source);
    std::string const kept = STAND_IN_KERNELS "/" + program.kernel + '-' + std::to_string(key);
    if (!fs::exists(kept)) {
        std::string at = STAND_IN_KERNELS "/XXXXXX";
        fs::create_directories(STAND_IN_KERNELS, failed);
        if (failed || !mkdtemp(at.data())) return false;
        std::ofstream(at + "/kernel.cpp") << source;
        std::string const command = "'" STAND_IN_COMPILER "' " + flags + " -o '" + at + "/kernel.so' '" + at +
                                    "/kernel.cpp' > '" + at + "/log' 2>&1";
        int const code = std::system(command.c_str());
        program.log = contents(at + "/log");
        if (code == 0) fs::rename(at, kept, failed); // fails if another process was here first
        if (code != 0 || failed) fs::remove_all(at, failed);
        if (code != 0) return false;
    }
    // The length comes first, because cuModuleLoadData gets only the address.
    std::string const bytes = contents(kept + "/kernel.so");
    std::size_t const length = bytes.size();
    program.code.assign(reinterpret_cast<char const*>(&length), sizeof(length));
    program.code += bytes;
    return true;
}

} // namespace

extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) {
    *major = 13, *minor = 0;
    return NVRTC_SUCCESS;
}
char const* nvrtcGetErrorString(nvrtcResult code) {
    return code == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}
nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
    *count = 3;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetSupportedArchs(int* all) {
    all[0] = 75, all[1] = 80, all[2] = 90;
    return NVRTC_SUCCESS;
}
// The program has the name of its one kernel (backend/cuda/compiler.hpp). Finding kernels in the text would
// mean expanding its macros.
nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, char const* text, char const* name, int,
                               char const* const*, char const* const*) {
    *program = new _nvrtcProgram{text, std::filesystem::path(name).stem(), {}, {}};
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
    delete *program;
    *program = nullptr;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, char const* const* options) {
    std::string architecture = "0";
    for (int i = 0; i < count; ++i)
        if (char const* const number = std::strstr(options[i], "sm_"))
            architecture = std::to_string(std::atoi(number + 3) * 10);
    std::string const source = as_host_code(program->text, program->kernel);
    std::string const flags = STAND_IN_FLAGS " -shared -D__CUDA_ARCH__=" + architecture;
    return compile(*program, source, flags) ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* bytes) {
    *bytes = program->log.size() + 1;
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* to) {
    std::memcpy(to, program->log.c_str(), program->log.size() + 1);
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* bytes) {
    *bytes = program->code.size();
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* to) {
    std::memcpy(to, program->code.data(), program->code.size());
    return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram, std::size_t*) { return NVRTC_ERROR_INVALID_INPUT; }
nvrtcResult nvrtcGetPTX(nvrtcProgram, char*) { return NVRTC_ERROR_INVALID_INPUT; }
}
