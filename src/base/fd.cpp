#include "base/fd.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace solmark {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}
int Fd::release() { return std::exchange(fd_, -1); }
void Fd::reset() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<Fd> Fd::duplicate() const {
  int copy = fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return errno_error("cannot duplicate a descriptor", errno);
  return Fd(copy);
}

Result<Fd> Fd::reopen_read_only() const {
  int copy = open(fmt::format("/proc/self/fd/{}", fd_).c_str(), O_RDONLY | O_CLOEXEC);
  if (copy < 0) return errno_error("cannot reopen shared memory read-only", errno);
  return Fd(copy);
}

Result<Fd> make_memfd(const std::string& name, std::size_t bytes) {
  Fd fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error("cannot make shared memory", errno);
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return errno_error(fmt::format("cannot reserve {} bytes of shared memory", bytes), errno);
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_error("cannot fix the size of shared memory", errno);
  }
  return fd;
}

Result<Mapping> Mapping::map(const Fd& fd, std::size_t bytes, Access access) {
  Mapping out;
  if (bytes == 0) return out;
  int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  // All pages at once: one fault each would cost several times as much, and within a timed batch.
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (at == MAP_FAILED) return errno_error(fmt::format("cannot map {} bytes", bytes), errno);
  out.data_ = static_cast<std::byte*>(at);
  out.size_ = bytes;
  return out;
}
Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}
Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace solmark
