#include "base/files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <vector>

namespace solmark {
namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& file, std::size_t max_bytes) {
  std::error_code ec;
  if (!fs::exists(file, ec)) return input_error("no such file", file.string());
  if (fs::is_directory(file, ec)) return input_error("is a folder, not a file", file.string());
  std::ifstream in(file, std::ios::binary);
  if (!in) return input_error("cannot be opened for reading", file.string());
  std::string out;
  std::vector<char> chunk(std::size_t{1} << 16);
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    out.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
    if (out.size() > max_bytes) {
      return input_error(fmt::format("larger than the limit of {} bytes", max_bytes), file.string());
    }
  }
  if (in.bad()) return input_error("cannot be read", file.string());
  return out;
}

Status write_file(const fs::path& file, std::string_view content) {
  static std::atomic<unsigned> serial{0};
  fs::path next = file;
  next += fmt::format(".{}.{}.tmp", getpid(), serial++);
  {
    std::ofstream out(next, std::ios::binary | std::ios::trunc);
    if (!out) return machine_error(fmt::format("{} cannot be opened for writing", next.string()));
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.flush();
    if (!out) return machine_error(fmt::format("{} cannot be written", next.string()));
  }
  std::error_code ec;
  fs::rename(next, file, ec);
  if (ec) {
    fs::remove(next, ec);
    return machine_error(fmt::format("{} cannot be replaced", file.string()));
  }
  return success();
}

bool is_contained_path(const fs::path& relative) {
  if (relative.empty() || relative.is_absolute() || relative.string().find('\0') != std::string::npos)
    return false;
  for (const auto& part : relative) {
    if (part == "..") return false;
  }
  return true;
}

Result<TemporaryFolder> TemporaryFolder::create(const std::string& prefix) {
  std::error_code ec;
  fs::path root = fs::temp_directory_path(ec);
  if (ec) root = "/tmp";
  std::string pattern = (root / (prefix + "-XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr)
    return errno_error("cannot make a temporary folder " + pattern, errno);
  return TemporaryFolder(fs::path(pattern));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}
TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ec;
  if (!path_.empty()) fs::remove_all(path_, ec);
}

fs::path program_folder() {
  std::error_code ec;
  fs::path self = fs::read_symlink("/proc/self/exe", ec);
  return ec ? fs::path(".") : self.parent_path();
}

}  // namespace solmark
