// The values of an epilogue as arguments of a kernel, behind its own.
#pragma once

#include "../../device/source.hpp"
#include "memory.hpp"

#include <array>

STRATAGEMM_BEGIN

// Value: the type that the epilogue is called with.
template <class Value>
class opencl_state {
public:
    std::string take(opencl_pointer<Value const> p) {
        std::string const name = name_next(), at = name + "_at";
        declared_ += std::string(", global ") + kernel_type<Value>() + " const *" + name + ", long " + at;
        names_ += ", " + name + ", " + at;
        keep({p.buffer, p.offset, Value()});
        return '(' + name + " + " + at + ')';
    }
    template <class T>
    requires std::convertible_to<T, Value> std::string take(T const& number) {
        std::string const name = name_next();
        declared_ += std::string(", ") + kernel_type<Value>() + ' ' + name;
        names_ += ", " + name;
        keep({nullptr, 0, static_cast<Value>(number)});
        return name;
    }
    std::string definitions() const {
        return "#define EPILOGUE_STATE " + declared_ + "\n#define EPILOGUE_NAMES " + names_ + '\n';
    }

    template <class Call>
    void pass(Call& call) const {
        for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
            if (values_[i].buffer)
                call(values_[i].buffer, cl_long{values_[i].offset});
            else
                call(values_[i].number);
        }
    }
    status check() const {
        if (count_ > most)
            return error(errc::unsupported, "opencl: an epilogue has more than 16 values; use fewer steps");
        return {};
    }

private:
    static constexpr int most = 16;
    struct argument {
        cl_mem buffer;
        index_t offset;
        Value number;
    };

    std::string name_next() { return 's' + std::to_string(count_); }
    void keep(argument a) {
        if (count_ < most) values_[static_cast<std::size_t>(count_)] = a;
        ++count_;
    }

    std::string declared_, names_;
    std::array<argument, most> values_;
    int count_ = 0;
};

template <class Value>
using opencl_epilogue = kernel_epilogue<opencl_state<Value>>;

STRATAGEMM_END
