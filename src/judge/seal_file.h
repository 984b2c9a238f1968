// A file of sealed calls: what `solmark seal` writes and `eval --seal` judges, with neither Python candidate
// nor compiler. It holds, for each workload, the Seal, the addresses of the judge's slots that the Seal was
// captured on, the scalars it was captured with, and the contents of its scratch memory.
//
// Layout: "SLMSEALS", u64 length of a JSON header, the header, then the blobs it points to by (offset,
// bytes).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "device/device.h"
#include "judge/case.h"
#include "judge/fault.h"
#include "problem/definition.h"

namespace solmark::judge {

struct SealFile {
  struct Piece {
    std::uint64_t address = 0;
    std::size_t offset = 0;  // into the file
    std::size_t bytes = 0;
  };
  struct Workload {
    std::size_t slots = 0;
    std::uint64_t inputs_address = 0;
    std::uint64_t outputs_address = 0;
    std::string scalars;  // JSON
    Piece seal;
    std::vector<Piece> scratch;
  };
  std::string definition;
  std::string solution;
  std::string device_name;
  int compute_capability = 0;
  std::map<std::string, Workload> workloads;  // by uuid
  std::filesystem::path file;
};

Result<SealFile> read_seal_file(const std::filesystem::path& file);
// The Seal must be for this definition and for a GPU of this architecture.
Status check_seal_file(const SealFile& seal, const problem::Definition& definition,
                       const device::DeviceInfo& device);
// Puts a workload's sealed calls and memory back into the case; the slots lie where they lay.
Step restore_sealed(const SealFile& seal, device::Device& device, Case& c);

class SealFileWriter {
 public:
  // Adds a sealed case; reads its scratch memory.
  Status add(device::Device& device, const Case& c);
  Status write(const std::filesystem::path& file, const std::string& definition, const std::string& solution,
               const device::DeviceInfo& device) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string uuid;
    SealFile::Workload workload;
    std::string seal;
    std::vector<std::string> scratch;
  };
  std::vector<Entry> entries_;
};

}  // namespace solmark::judge
