// Runs every target over its corpus, as written, cut short, with bytes and with values changed: a test
// without a fuzzer. Arguments: the corpus, the mutations of a file (200), the random seed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "json_mutations.h"
#include "targets.h"

namespace {

namespace fs = std::filesystem;
using solmark::fuzz::Target;

constexpr int kMutations = 200;  // of each kind and file: enough to reach most branches in a few seconds

void mutate_and_run(const Target& target, const std::string& seed, int mutations, std::mt19937& random) {
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = seed;
    for (auto edits = 1 + random() % 3; edits > 0 && !bytes.empty(); --edits) {
      std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random() & 0xff);
          break;
        case 1:
          bytes.erase(at, 1 + random() % 8);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 16));
          break;
        default:
          bytes.resize(at);
          break;
      }
    }
    target.run(bytes);
    target.run(solmark::fuzz::mutate_json(seed, random));
  }
}

int replay(const Target& target, const fs::path& corpus, int mutations, unsigned seed) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(corpus / target.name)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::mt19937 random(seed);
  for (const fs::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // the last line names the culprit after an abort
    auto bytes = solmark::read_file(file);
    if (!bytes.ok()) return 1;
    target.run(*bytes);
    mutate_and_run(target, *bytes, mutations, random);
  }
  return files.size() < 4 ? 1 : 0;  // a corpus that went missing must not pass
}

}  // namespace

int main(int argc, char** argv) {
  fs::path corpus = argc > 1 ? argv[1] : SOLMARK_SOURCE_DIR "/fuzz/corpus";
  const int mutations = argc > 2 ? std::atoi(argv[2]) : kMutations;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 20240611;
  int failed = 0;
  for (const Target& target : solmark::fuzz::kTargets) {
    std::error_code ec;
    if (!fs::is_directory(corpus / target.name, ec)) {
      std::fprintf(stderr, "no corpus for %s\n", target.name);
      failed = 1;
      continue;
    }
    failed |= replay(target, corpus, mutations, seed);
  }
  return failed;
}
