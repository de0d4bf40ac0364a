// A matrix whose rows lie in the memories of several devices of one host: a panel of neighbouring rows on each.
//
//   std::vector<sg::cuda> const gpus{{.device = 0}, {.device = 1}};
//   sg::panels<double, sg::cuda> a(gpus, m, k), b(gpus, k, n), c(gpus, m, n);
//   a.upload(host_a), b.upload(sg::file_matrix<double>("b.npy"));
//   sg::gemm(sg::out_of_core{gpus}, a, b, c);                   returns when C is there
//   sg::gemm(sg::out_of_core{gpus}, a, sg::transposed(x), c);   B may be transposed
//   sg::panel_values<double, sg::cuda> v(gpus, host_bias);      a copy on each device
//   sg::gemm(sg::out_of_core{gpus}, a, b, c, sg::bias(v));
//   c.download(host_c);
//
// An epilogue needs a panel_values where it has a vector, unless the "devices" are threads of the host.
//
// Each device multiplies its rows of A into its rows of C. B comes in pieces of columns from where its rows lie, into two
// pieces of memory in turn, while products run. Devices that reach each other's memory copy directly, others by way of
// pinned memory of the host. The policy has the devices of the panels, in their order; its base may be any policy.
//
// A matrix in panels of columns is sg::transposed(x), with the rows of its transposed matrix in panels. With such a B and
// C, each device has its columns of both, and A, in panels of rows or columns, comes in pieces.
//
// No sum is cut, and no block of C depends on where its rows lie: a product has the same bits on one device and on
// several that are alike, if the panels have the same `height`. The default one is the same for 1, 2, 4 and 8 devices.
#pragma once

#include "panels/copies.hpp"
#include "panels/product.hpp"

#include <vector>

STRATAGEMM_BEGIN

struct panels_options {
    layout order = layout::row_major;
    // Rows of C are multiplied in blocks of so many, and a panel consists of such blocks. 0: the rows are cut into the
    // least number of blocks that is a multiple of the number of devices, but at least 8.
    index_t height = 0;
};

namespace panel_parts {
template <class Policy>
index_t number_of_devices(std::vector<Policy> const& devices) {
    if (devices.empty() || devices.size() > most_panels)
        raise(error(errc::argument, "panels: there have to be 1 to 64 devices"));
    return static_cast<index_t>(devices.size());
}
} // namespace panel_parts

template <element T, class Policy>
class panels {
    using space = typename Policy::space;
    using queue = device_queue<leaf_of<Policy>>;
    using panel = panel_of<T, space, queue>;

public:
    using value_type = T;

    // The elements are not initialised. Each policy has one device; the devices should be alike.
    panels(std::vector<Policy> const& devices, index_t rows, index_t cols, panels_options const& options = {})
        : rows_(rows), cols_(cols), height_(options.height) {
        auto const count = panel_parts::number_of_devices(devices);
        if (rows < 0 || cols < 0 || height_ < 0)
            raise(error(errc::shape, "panels: rows, cols and height must not be negative"));
        if (height_ == 0) height_ = height_of_blocks(rows, count);
        for (index_t i = 0; i < count; ++i) {
            rows_of_device const own(rows, height_, i, count);
            bool const by_rows = options.order == layout::row_major;
            auto const& device = devices[static_cast<std::size_t>(i)];
            matrices_.emplace_back(device, own.count(), cols, options.order);
            parts_.push_back({queue(device.leaf()),
                              without_gaps<T, space>(matrices_.back().data(), own.count(), cols, by_rows),
                              own.begin});
        }
    }

    index_t rows() const { return rows_; }
    index_t cols() const { return cols_; }
    index_t height() const { return height_; }
    int devices() const { return static_cast<int>(parts_.size()); }
    // The rows that lie on a device, and the number of the first.
    auto panel_on(int device) { return part(device).data; }
    stratagemm::view<T const, space> panel_on(int device) const { return part(device).data; }
    index_t first_row_on(int device) const { return part(device).first_row; }

    panels_view<T, space, queue> view() { return {rows_, cols_, parts_.data(), devices(), height_}; }
    panels_view<T const, space, queue> view() const {
        return {rows_, cols_, parts_.data(), devices(), height_};
    }

    // From a matrix on the host or in a file. Returns when all has arrived.
    template <operand M>
    void upload(M&& from) {
        check_shape(from);
        scatter(as_view(from));
    }
    // From the memory of a device, after what was queued on that policy.
    template <operand M>
    void upload(M&& from, Policy const& device) {
        check_shape(from);
        stratagemm::view<T const, space> const whole = as_view(from);
        queue const there(device.leaf());
        there.synchronize().or_throw();
        for (panel const& to : parts_)
            copy_between_devices(there, rows_of(whole, to), to.queue, to.data).or_throw();
        synchronize();
    }
    // After all that was queued on the policies of the panels.
    template <operand M>
    void download(M&& to) const {
        check_shape(to);
        synchronize();
        gather(as_view(to));
    }
    template <operand M>
    void download(M&& to, Policy const& device) const {
        check_shape(to);
        synchronize();
        stratagemm::view<T, space> const whole = as_view(to);
        queue const there(device.leaf());
        for (panel const& from : parts_)
            copy_between_devices<T>(from.queue, from.data, there, rows_of(whole, from)).or_throw();
        there.synchronize().or_throw();
    }

private:
    panel const& part(int device) const { return parts_[static_cast<std::size_t>(device)]; }
    template <class M>
    void check_shape(M& m) const {
        auto const v = as_view(m);
        if (v.rows != rows_ || v.cols != cols_)
            raise(error(errc::shape, "panels: a copy needs matrices of the same shape"));
    }
    template <class V>
    static V rows_of(V const& whole, panel const& p) {
        return whole.part(p.first_row, 0, p.data.rows, whole.cols);
    }
    void synchronize() const {
        for (panel const& p : parts_) p.queue.synchronize().or_throw();
    }

    void scatter(stratagemm::view<T const> const& from) {
        for (panel const& to : parts_)
            out_of_core_parts::copy_between(to.queue, rows_of(from, to), to.data, from.data).or_throw();
        synchronize();
    }
    void gather(stratagemm::view<T> const& to) const {
        for (panel const& from : parts_)
            out_of_core_parts::copy_between(from.queue, stratagemm::view<T const, space>(from.data),
                                            rows_of(to, from), to.data)
                .or_throw();
        synchronize();
    }
    void scatter(file_view<T const> const& from) {
        for (panel const& to : parts_) read_panel(to.queue, rows_of(from, to), to.data).or_throw();
        synchronize();
    }
    void gather(file_view<T> const& to) const {
        for (panel const& from : parts_)
            write_panel(from.queue, stratagemm::view<T const, space>(from.data), rows_of(to, from))
                .or_throw();
    }

    index_t rows_ = 0, cols_ = 0, height_ = 0;
    std::vector<device_matrix<T, Policy>> matrices_;
    std::vector<panel> parts_;
};

// The values of bias() or scale() for a C in panels: each device has all of them. `values` is a vector on the host.
template <element T, class Policy>
class panel_values {
    using space = typename Policy::space;
    using queue = device_queue<leaf_of<Policy>>;

public:
    using value_type = T;

    template <line_values V>
    panel_values(std::vector<Policy> const& devices, V const& values)
        : size_(static_cast<index_t>(values.size())) {
        auto const from = stratagemm::view<T const>{values.data(), 1, size_, size_, 1};
        for (index_t i = 0; i < panel_parts::number_of_devices(devices); ++i) {
            auto const& device = devices[static_cast<std::size_t>(i)];
            matrices_.emplace_back(device, 1, size_);
            parts_.push_back({queue(device.leaf()), matrices_.back().view()});
            out_of_core_parts::copy_between(parts_.back().queue, from, parts_.back().data, from.data)
                .or_throw();
            parts_.back().queue.synchronize().or_throw();
        }
    }
    index_t size() const { return size_; }
    values_in_panels<T, space, queue> data() const {
        return {parts_.data(), static_cast<int>(parts_.size())};
    }

private:
    index_t size_;
    std::vector<device_matrix<T, Policy>> matrices_;
    std::vector<panel_of<T, space, queue>> parts_;
};

STRATAGEMM_END
