// NVRTC's interface over the C++ compiler that built this. It compiles each kernel to a shared library.
#include <cctype>
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

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Regular expressions of the standard library take longer than many a kernel takes to compile: the rest is by hand.
// The next place from `at` on where `what` is a word, or npos.
std::size_t find_word(std::string const& s, std::string const& what, std::size_t at) {
    for (; (at = s.find(what, at)) != std::string::npos; at += what.size())
        if ((at == 0 || !is_name(s[at - 1])) &&
            (at + what.size() == s.size() || !is_name(s[at + what.size()])))
            return at;
    return at;
}

// The name of the function for an instruction, or for the first of a block of them in braces.
std::string name_of(std::string const& text) {
    static std::regex const first("^\"(?:\\{|\\\\n|\\.reg[^;]*;|[A-Z]+:)*([a-zA-Z0-9_.:]*)");
    std::smatch m;
    std::regex_search(text, m, first);
    std::string name = m[1].str();
    for (char& c : name)
        if (c == '.' || c == ':') c = '_';
    return name;
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

// `extern __shared__ ... char memory[];` is what the launch has room for.
void take_shared_memory(std::string& s) {
    std::string const begin = "extern __shared__", end = " char memory[];";
    for (std::size_t at = 0; (at = s.find(begin, at)) != std::string::npos; ++at) {
        std::size_t const semicolon = s.find(';', at);
        if (semicolon == std::string::npos) return;
        std::string const all = s.substr(at, semicolon + 1 - at);
        if (all.size() < end.size() || all.compare(all.size() - end.size(), end.size(), end) != 0) continue;
        s.replace(at, all.size(), "char *memory = stand_in_now->shared;");
    }
}

// `__shared__ type name;`: each block of a cluster has its own.
void take_shared_variables(std::string& s) {
    std::string const begin = "__shared__ ";
    for (std::size_t at = 0; (at = s.find(begin, at)) != std::string::npos; ++at) {
        std::size_t const type = at + begin.size();
        std::size_t space = type, end;
        while (space < s.size() && is_name(s[space])) ++space;
        if (space == type || space >= s.size() || s[space] != ' ') continue;
        for (end = space + 1; end < s.size() && is_name(s[end]);) ++end;
        if (end == space + 1 || end >= s.size() || s[end] != ';') continue;
        std::string const kind = s.substr(type, space - type), name = s.substr(space + 1, end - space - 1);
        s.replace(at, end + 1 - at,
                  "static " + kind + ' ' + name + "_of[8]; " + kind + " &" + name + " = " + name +
                      "_of[stand_in_now->in_cluster];");
    }
}

// Each asm(...) or asm volatile(...) as a call.
std::string with_calls(std::string const& s) {
    std::string done;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = find_word(s, "asm", at)) != std::string::npos;) {
        std::size_t open = at + 3;
        if (s.compare(open, 9, " volatile") == 0) open += 9;
        if (open >= s.size() || s[open] != '(') {
            at = open;
            continue;
        }
        std::size_t const end = past_bracket(s, open);
        done.append(s, from, at - from);
        done += as_call(s.substr(open + 1, end - open - 2));
        from = at = end;
    }
    return done.append(s, from, std::string::npos);
}

// The source as C++, with a function that calls the kernel with the arguments that a launch gives.
std::string as_host_code(std::string const& source, std::string const& kernel) {
    std::string s = source;
    take_shared_memory(s), take_shared_variables(s);
    for (std::size_t at = 0; (at = s.find("#pragma unroll", at)) != std::string::npos;)
        s.erase(at, s.find('\n', at) - at);
    s = with_calls(s);
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
