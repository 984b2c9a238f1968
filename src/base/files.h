// Files and paths: bounded reads, atomic writes, temporary folders.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace solmark {

Result<std::string> read_file(const std::filesystem::path& file,
                              std::size_t max_bytes = std::size_t{1} << 30);
// Writes beside the target and renames, so a reader never sees half a file.
Status write_file(const std::filesystem::path& file, std::string_view content);

// True when `relative` is a relative path that stays inside its root: not absolute, no "..", not empty.
bool is_contained_path(const std::filesystem::path& relative);

// A folder under the system's temporary folder, removed with everything in it.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create(const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Folder of the running program (from /proc/self/exe).
std::filesystem::path program_folder();

}  // namespace solmark
