// Epilogues as kernels see them: what epilogue.device(...) tells, as source and as arguments.
#pragma once

#include "memory.hpp"

#include <array>

STRATAGEMM_BEGIN

// The names of types in kernel sources.
template <class T>
constexpr char const* opencl_type() {
    if constexpr (std::is_same_v<T, std::int8_t>)
        return "char";
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return "int";
    else if constexpr (complex_like<T>)
        return sizeof(T) == 8 ? "float2" : "double2";
    else
        return type_name<T>();
}

// Value: the type that the epilogue is called with.
template <class Value>
class opencl_epilogue {
public:
    template <class F>
    explicit opencl_epilogue(F const& epilogue) {
        epilogue.device(*this);
    }

    template <class... State>
    requires((std::convertible_to<State, Value> || std::same_as<State, opencl_pointer<Value>> ||
              std::same_as<State, opencl_pointer<Value const>>)&&...) void
    operator()(char const* expression, State const&... state) {
        std::array<std::string, sizeof...(State)> const names{take(state)...};
        body_ += "x = ";
        for (char const* c = expression; *c; ++c) {
            if (*c == '$' && c[1] >= '0' && static_cast<std::size_t>(c[1] - '0') < names.size())
                body_ += names[static_cast<std::size_t>(*++c - '0')];
            else
                body_ += *c;
        }
        body_ += "; ";
    }

    // With the same text, two epilogues are the same but for their state.
    std::string text() const { return body_.empty() ? body_ : state_ + '|' + body_; }

    void define(std::string& source) const {
        source += "#define EPILOGUE_STATE " + state_ + "\n#define EPILOGUE_NAMES " + names_ +
                  "\n#define EPILOGUE_BODY " + body_ + '\n';
    }

    // Hands the values over as the last arguments of a kernel.
    template <class Call>
    void pass(Call& call) const {
        for (int i = 0; i < count_; ++i) {
            if (values_[i].buffer)
                call(values_[i].buffer, cl_long{values_[i].offset});
            else
                call(values_[i].number);
        }
    }
    bool fits() const { return count_ <= most; }

private:
    static constexpr int most = 16;
    struct argument {
        cl_mem buffer;
        index offset;
        Value number;
    };

    std::string name_next() { return 's' + std::to_string(count_); }
    void keep(argument a) {
        if (count_ < most) values_[static_cast<std::size_t>(count_)] = a;
        ++count_;
    }
    template <class T>
    std::string take(opencl_pointer<T> p) {
        std::string const name = name_next();
        state_ +=
            std::string(", global ") + opencl_type<Value>() + " const *" + name + ", long " + name + "_at";
        names_ += ", " + name + ", " + name + "_at";
        keep({p.buffer, p.offset, Value()});
        return '(' + name + " + " + name + "_at)";
    }
    template <class T>
    std::string take(T const& number) {
        std::string const name = name_next();
        state_ += std::string(", ") + opencl_type<Value>() + ' ' + name;
        names_ += ", " + name;
        keep({nullptr, 0, static_cast<Value>(number)});
        return name;
    }

    std::string body_, state_, names_;
    std::array<argument, most> values_;
    int count_ = 0;
};

template <class F, class Value>
concept opencl_epilogue_for = requires(F const& f, opencl_epilogue<Value>& to) {
    f.device(to);
};

STRATAGEMM_END
