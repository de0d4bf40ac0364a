// Lines of text under names, such as measured times of shapes: one entry of the store holds all lines of a kind.
//
// A process reads the entry once, when it first looks for a line: a later search reads no file, and finds the same lines
// whatever other processes keep meanwhile. Who uses the lines from several threads guards them.
#pragma once

#include "program_entry.hpp"

STRATAGEMM_BEGIN

template <class Text = std::string>
class kept_lines {
public:
    kept_lines(Text folder, program_key key) : folder_(std::move(folder)), key_(std::move(key)) {}

    // Whether these are the lines of that entry.
    bool are_of(Text const& folder, program_key const& key) const {
        return folder_ == folder && key_.target == key.target && key_.options == key.options &&
               key_.source == key.source;
    }

    // The line of a name; empty if there is none.
    Text find(Text const& name) {
        read();
        std::size_t const at = place_of(lines_, name);
        if (at == Text::npos) return {};
        std::size_t const begin = at + name.size() + 3;
        return lines_.substr(begin, lines_.find('\n', begin) - begin);
    }
    // Sets the line of a name for this process.
    void set(Text const& name, Text const& line) {
        read();
        set(lines_, name, line);
    }
    // Sets the line in the entry, for later processes. Lines that others have kept meanwhile stay there. `to` is a
    // program_store of the folder, whose header is for those who write alone.
    template <class Store>
    void store(Store const& to, Text const& name, Text const& line) const {
        to.change(key_, [&](Text& lines) { set(lines, name, line); });
    }

    // Reads the entry, if that was not done yet.
    void read() {
        if (!is_read_ && !load_entry(folder_, key_, lines_)) lines_ = Text();
        is_read_ = true;
    }

private:
    // Each line begins with its end, so that a name is found by one search.
    static std::size_t place_of(Text const& lines, Text const& name) {
        return lines.find(Text("\n") + name + ": ");
    }
    static void set(Text& lines, Text const& name, Text const& line) {
        std::size_t const at = place_of(lines, name);
        if (at != Text::npos) lines.erase(at, lines.find('\n', at + 1) - at);
        lines += Text("\n") + name + ": " + line;
    }

    Text folder_;
    program_key key_;
    Text lines_{};
    bool is_read_ = false;
};

STRATAGEMM_END
