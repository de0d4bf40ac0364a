// Which of the policies under test are tried: those whose names begin with $CONFORMANCE_POLICY and are over the backend
// $CONFORMANCE_LEAF; without these variables, all.
//
// A policy is named as a caller writes it, its outermost layer first: strassen{host}, ozaki{reference, {.moduli = 9}}.
#pragma once

#include <cstdlib>
#include <set>
#include <string>

class policy_filter {
public:
    bool takes(std::string const& name) {
        bool const taken =
            name.compare(0, begin_.size(), begin_) == 0 && name.find(leaf_) != std::string::npos;
        took_one_ |= taken;
        if (!taken) left_out_.insert(name);
        return taken;
    }
    bool takes_all() const { return begin_.empty() && leaf_.empty(); }
    // Whether policies were left out, and none was tried.
    bool left_out_all() const { return !took_one_ && !left_out_.empty(); }
    std::set<std::string> const& left_out() const { return left_out_; }

private:
    static std::string wanted(char const* variable) {
        char const* const text = std::getenv(variable);
        return text ? text : "";
    }
    std::string begin_ = wanted("CONFORMANCE_POLICY"), leaf_ = wanted("CONFORMANCE_LEAF");
    bool took_one_ = false;
    std::set<std::string> left_out_;
};
inline policy_filter& chosen_policies() {
    static policy_filter filter;
    return filter;
}
