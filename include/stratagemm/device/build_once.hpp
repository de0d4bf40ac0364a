// Things that are made once for each key and kept: compiled kernels, in memory.
#pragma once

#include "../core/error.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>

STRATAGEMM_BEGIN

// Key is a small struct with an order. Threads that ask for one key at a time wait for the one that makes its
// value; those that ask for other keys do not. A failure is told, and not kept. Values stay where they are.
template <class Key, class Value>
class build_once {
public:
    // make() returns result<Value>.
    template <class Make>
    result<Value*> get(Key const& key, Make&& make) {
        slot& s = slot_of(key);
        if (!s.ready.load(std::memory_order_acquire)) {
            std::lock_guard const lock(s.making);
            if (!s.value) {
                auto made = make();
                if (!made) return made.take_status();
                s.value.emplace(std::move(*made));
                s.ready.store(true, std::memory_order_release);
            }
        }
        return &*s.value;
    }

private:
    struct slot {
        std::mutex making;
        std::atomic<bool> ready{false};
        std::optional<Value> value;
    };

    slot& slot_of(Key const& key) {
        {
            std::shared_lock const lock(mutex_);
            if (auto const found = slots_.find(key); found != slots_.end()) return *found->second;
        }
        std::lock_guard const lock(mutex_);
        auto found = slots_.find(key);
        // Not by operator[]: without memory for the slot it would leave a key that has none.
        if (found == slots_.end()) found = slots_.emplace(key, std::make_unique<slot>()).first;
        return *found->second;
    }

    std::shared_mutex mutex_;
    std::map<Key, std::unique_ptr<slot>> slots_;
};

// The same for keys of several types.
template <class Value, class... Keys>
struct build_once_by : build_once<Keys, Value>... {
    using build_once<Keys, Value>::get...;
};

STRATAGEMM_END
