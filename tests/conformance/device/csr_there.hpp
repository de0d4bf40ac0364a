// Sparse matrices of tests in the memory of the device under test.
#pragma once

#include "policies.hpp"
#include "sparse.hpp"

#include <stratagemm/stratagemm.hpp>

#include <vector>

namespace trials {

// A csr whose arrays are on the device. It may say that there is room for more elements.
template <class T, class Index>
struct csr_there {
    under_test device;
    sg::shared<under_test::arena> memory{};
    sg::index_t room = 0;
    under_test::space::handle<T> values{};
    sg::csr<T, Index, under_test::space> view{};

    csr_there(under_test const& device_, sg::csr<T, Index> const& a, sg::index_t more = 0)
        : device(device_), room(a.nonzeros + more) {
        memory = *sg::reserve_for(device, sg::bytes_of_lists<under_test::arena, T, Index>(a.rows, room));
        auto const begins = memory->take<Index>(a.rows + 1), columns = memory->take<Index>(room);
        values = memory->take<T>(room);
        device.leaf().upload(a.row_begins, begins, a.rows + 1).or_throw();
        device.leaf().upload(a.columns, columns, a.nonzeros).or_throw();
        view = {a.rows, a.cols, begins, columns, values, room};
        upload(std::vector<T>(a.values, a.values + a.nonzeros));
    }
    void upload(std::vector<T> from) {
        from.resize(static_cast<std::size_t>(room), T(5));
        device.leaf().upload(from.data(), values, room).or_throw();
    }
    std::vector<T> download() const {
        std::vector<T> all(static_cast<std::size_t>(room));
        device.leaf().download(values, all.data(), room).or_throw();
        return all;
    }
    int wrong(std::vector<T> expected) const {
        expected.resize(static_cast<std::size_t>(room), T(5));
        auto const found = download();
        int wrong = 0;
        for (std::size_t at = 0; at < found.size(); ++at) wrong += !(found[at] == expected[at]);
        return wrong;
    }
};

// What an array of the device holds.
template <class T>
std::vector<std::remove_const_t<T>> numbers(under_test const& device, under_test::space::handle<T> from,
                                            sg::index_t count) {
    std::vector<std::remove_const_t<T>> all(static_cast<std::size_t>(count));
    device.leaf().download(from, all.data(), count).or_throw();
    return all;
}

} // namespace trials
