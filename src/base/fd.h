// Owned file descriptors, memfds and mappings.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace solmark {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  int release();
  void reset();
  // A second descriptor of the same open file, close-on-exec.
  [[nodiscard]] Result<Fd> duplicate() const;
  // The same memfd opened read-only: a mapping made from it cannot be made writable.
  [[nodiscard]] Result<Fd> reopen_read_only() const;

 private:
  int fd_ = -1;
};

// Anonymous shared memory of a fixed size (it can be neither grown nor shrunk by whoever gets the
// descriptor).
Result<Fd> make_memfd(const std::string& name, std::size_t bytes);

// A shared mapping of a descriptor.
class Mapping {
 public:
  enum class Access { kRead, kReadWrite };
  static Result<Mapping> map(const Fd& fd, std::size_t bytes, Access access);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace solmark
