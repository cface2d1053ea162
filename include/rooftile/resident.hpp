// C++ wrapper of resident.h. It adds only ownership and exceptions. Part of rooftile.hpp.
#pragma once

#include <rooftile/resident.h>
#include <rooftile/rows.h>

#include <chrono>
#include <cstddef>
#include <rooftile/rooftile.hpp>
#include <utility>

namespace rooftile {

namespace detail {
inline void check(rooftile_status status) {
  if (status != ROOFTILE_OK) throw StatusError(status);
}

/// Owner of a handle of the C ABI, or of none if default-constructed. Movable.
template <typename Handle, rooftile_status (*release)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle* handle) : handle_(handle) {}
  ~Owned() { release(handle_); }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Handle* get() const noexcept { return handle_; }

 private:
  Handle* handle_ = nullptr;
};
}  // namespace detail

/// Owner of device memory of a session. All members throw StatusError with the errors of the C
/// function of the same name.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Session& session, std::size_t bytes) {
    rooftile_buffer* buffer = nullptr;
    detail::check(rooftile_buffer_create(session.get(), bytes, &buffer));
    buffer_ = detail::Owned<rooftile_buffer, rooftile_buffer_release>(buffer);
  }

  std::size_t size() const {
    std::size_t bytes = 0;
    detail::check(rooftile_buffer_size(buffer_.get(), &bytes));
    return bytes;
  }
  void upload(const void* from, std::size_t bytes, std::size_t offset_bytes = 0) {
    detail::check(rooftile_buffer_upload(buffer_.get(), offset_bytes, from, bytes));
  }
  void download(void* to, std::size_t bytes, std::size_t offset_bytes = 0) const {
    detail::check(rooftile_buffer_download(buffer_.get(), offset_bytes, to, bytes));
  }
  /// Operand that starts `offset` elements behind the start of the buffer.
  rooftile_place at(std::int64_t offset) const noexcept { return {buffer_.get(), offset}; }
  // Allows a buffer in the designated initialisers of operands.
  operator rooftile_place() const noexcept { return at(0); }
  rooftile_buffer* get() const noexcept { return buffer_.get(); }

 private:
  detail::Owned<rooftile_buffer, rooftile_buffer_release> buffer_;
};

/// Owner of submitted work. The destructor does not wait for it.
class DeviceRun {
 public:
  DeviceRun() = default;
  explicit DeviceRun(rooftile_run* run) : run_(run) {}

  /// Waits until the work is finished. Throws StatusError.
  void wait() const { detail::check(rooftile_run_wait(run_.get(), ROOFTILE_FOREVER)); }
  /// Returns whether the work is finished within `timeout`. Throws StatusError, but not for a
  /// timeout.
  bool wait_for(std::chrono::nanoseconds timeout) const {
    const auto ns = timeout.count() > 0 ? static_cast<std::uint64_t>(timeout.count()) : 0;
    const rooftile_status status = rooftile_run_wait(run_.get(), ns);
    if (status != ROOFTILE_TIMEOUT) detail::check(status);
    return status == ROOFTILE_OK;
  }
  bool finished() const { return wait_for(std::chrono::nanoseconds(0)); }
  rooftile_run* get() const noexcept { return run_.get(); }

 private:
  detail::Owned<rooftile_run, rooftile_run_release> run_;
};

namespace detail {
inline rooftile_gemm_args completed(rooftile_gemm_args args) {
  args.struct_size = sizeof args;
  if (args.batch == 0) args.batch = 1;
  return args;
}
inline rooftile_resident_operands completed(rooftile_resident_operands operands) {
  operands.struct_size = sizeof operands;
  return operands;
}
}  // namespace detail

/// Calls rooftile_resident_prepare. Here and below struct_size is filled in, and batch 0 becomes 1.
/// Throws StatusError.
inline rooftile_prepared prepare(const Session& session, const rooftile_gemm_args& args,
                                 const rooftile_resident_operands& operands) {
  const rooftile_gemm_args problem = detail::completed(args);
  const rooftile_resident_operands places = detail::completed(operands);
  rooftile_prepared prepared = {};
  prepared.struct_size = sizeof prepared;
  detail::check(rooftile_resident_prepare(session.get(), &problem, &places, &prepared));
  return prepared;
}

/// Calls rooftile_resident_gemm. Throws StatusError.
inline DeviceRun gemm(const Session& session, const rooftile_gemm_args& args,
                      const rooftile_resident_operands& operands) {
  const rooftile_gemm_args problem = detail::completed(args);
  const rooftile_resident_operands places = detail::completed(operands);
  rooftile_run* run = nullptr;
  detail::check(rooftile_resident_gemm(session.get(), &problem, &places, &run));
  return DeviceRun(run);
}

/// Owner of a list of calls and transfers that run together. Members throw StatusError.
class DeviceList {
 public:
  DeviceList() = default;
  explicit DeviceList(const Session& session) {
    rooftile_list* list = nullptr;
    detail::check(rooftile_list_create(session.get(), &list));
    list_ = detail::Owned<rooftile_list, rooftile_list_release>(list);
  }

  void gemm(const rooftile_gemm_args& args, const rooftile_resident_operands& operands) {
    const rooftile_gemm_args problem = detail::completed(args);
    const rooftile_resident_operands places = detail::completed(operands);
    detail::check(rooftile_list_gemm(list_.get(), &problem, &places));
  }
  void upload(const DeviceBuffer& buffer, const void* from, std::size_t bytes,
              std::size_t offset_bytes = 0) {
    detail::check(rooftile_list_upload(list_.get(), buffer.get(), offset_bytes, from, bytes));
  }
  void download(const DeviceBuffer& buffer, void* to, std::size_t bytes,
                std::size_t offset_bytes = 0) {
    detail::check(rooftile_list_download(list_.get(), buffer.get(), offset_bytes, to, bytes));
  }
  /// Call rooftile_list_softmax and rooftile_list_multiply; struct_size is filled in, and batch 0
  /// becomes 1.
  void softmax(rooftile_softmax_args args, const rooftile_place& x, const rooftile_place& y) {
    args.struct_size = sizeof args;
    if (args.batch == 0) args.batch = 1;
    detail::check(rooftile_list_softmax(list_.get(), &args, x, y));
  }
  void multiply(rooftile_multiply_args args, const rooftile_place& x, const rooftile_place& y,
                const rooftile_place& z) {
    args.struct_size = sizeof args;
    detail::check(rooftile_list_multiply(list_.get(), &args, x, y, z));
  }
  DeviceRun run() {
    rooftile_run* run = nullptr;
    detail::check(rooftile_list_run(list_.get(), &run));
    return DeviceRun(run);
  }
  rooftile_list* get() const noexcept { return list_.get(); }

 private:
  detail::Owned<rooftile_list, rooftile_list_release> list_;
};

}  // namespace rooftile

#include <rooftile/grouped.hpp>
#include <rooftile/packed.hpp>
