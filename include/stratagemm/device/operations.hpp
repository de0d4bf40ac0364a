// What the leaves of all devices share: launches of kernels in the dialect, and copies to and from the host.
#pragma once

#include "elementwise.hpp"
#include "transfer.hpp"

STRATAGEMM_BEGIN

// A base of Leaf. Leaf is a queue (device/transfer.hpp lists the members), and it also has
//   layer                                        its name in errors
//   limits()
//   check()                                      fails if there is no device
//   check(argument)                              fails if a kernel cannot take the argument
//   queue_kernel(kernel, groups, arguments...)   compiles the kernel when it is first needed, and queues it
template <class Leaf, class Space, template <class> class Epilogue>
class device_operations : public elementwise_operations<Leaf, Space, Epilogue> {
    template <class T>
    using handle = typename Space::template handle<T>;

public:
    // See device_leaf. An argument may also be a complex number, or an epilogue.
    template <class... Arguments>
    status launch(device_kernel const& kernel, index_t groups, Arguments const&... arguments) const {
        status usable = self().check();
        auto const check = [&](auto const& x) {
            if (usable) usable = self().check(x);
        };
        (each_given(check, arguments), ...);
        if (!usable || groups <= 0) return usable;
        if (groups > self().limits().groups)
            return error(errc::unsupported, Leaf::layer,
                         "more than 2^31 - 1 groups in one launch; work on parts");
        return or_no_memory([&] { return self().queue_kernel(kernel, groups, arguments...); });
    }

    // Between host memory and the device's; returns when it is done, after all that was queued before.
    template <class T>
    status upload(T const* from, handle<T> to, index_t count) const {
        status s = or_no_memory([&] {
            return send_bytes(self(), from, {Space::buffer(to), Space::address(to)}, bytes<T>(count));
        });
        return s ? self().synchronize() : std::move(s);
    }
    template <class T>
    status download(handle<T> from, std::remove_const_t<T>* to, index_t count) const {
        status s = or_no_memory([&] {
            return fetch_bytes(self(), {Space::buffer(from), Space::address(from)}, to, bytes<T>(count));
        });
        return s ? self().synchronize() : std::move(s);
    }

    // See core/leaf.hpp. If the device reads and writes the host's memory itself (reads_itself()) and both
    // matrices lie alike, the copy is only queued. Otherwise the host's memory has been read, or written,
    // when this returns.
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(view<From> from,
                                                                           view<To, Space> to)
    const {
        return or_no_memory([&] { return send_block(self(), from, to); });
    }
    template <class From, class To>
    requires std::same_as<std::remove_const_t<From>, To> status copy_async(view<From, Space> from,
                                                                           view<To> to)
    const {
        return or_no_memory([&] { return fetch_block(self(), from, to); });
    }

private:
    Leaf const& self() const { return static_cast<Leaf const&>(*this); }
    template <class T>
    static std::size_t bytes(index_t count) {
        return static_cast<std::size_t>(count) * sizeof(T);
    }
};

STRATAGEMM_END
