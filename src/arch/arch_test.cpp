#include "arch/arch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "arch/arch_toml.h"
#include "arch/registry.h"
#include "base/files.h"

namespace solmark::arch {
namespace {

using ::testing::HasSubstr;

std::string valid_text() { return *read_file(SOLMARK_SOURCE_DIR "/arch/h100-sxm.toml"); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(Registry, EveryBuiltInFileReadsAndPrintsItsVendorsPeaks) {
  int printed = 0;
  for (const auto& entry : list_archs()) {
    const auto arch = find_arch(entry.name);
    ASSERT_TRUE(arch.ok()) << arch.error().text();
    EXPECT_EQ(arch->name, entry.name);
    for (const auto& peak : arch->printed_peaks) {
      const auto ours = peak_flop_per_s(*arch, peak.pipe, peak.format, {peak.clock, std::nullopt});
      ASSERT_TRUE(ours.has_value());
      EXPECT_NEAR(ours->per_s / peak.flop_per_s.value, 1, 0.005)
          << entry.name << " " << format_name(peak.format);
      ++printed;
    }
    for (const auto& [format, rate] : arch->tensor) EXPECT_FALSE(rate.source.empty());
  }
  EXPECT_GE(printed, 30);
}

TEST(Registry, KnowsTheFourParts) {
  for (const char* name : {"a100-sxm", "h100-sxm", "h200-sxm", "b200"})
    EXPECT_TRUE(find_arch(name).ok()) << name;
}

TEST(Registry, SuggestsTheNearestName) {
  const auto arch = find_arch("h100-smx");
  ASSERT_FALSE(arch.ok());
  EXPECT_THAT(arch.error().text(), HasSubstr("did you mean h100-sxm"));
}

TEST(Registry, UsersFileGoesBeforeTheBuiltInOne) {
  auto folder = TemporaryFolder::create("arch-test");
  ASSERT_TRUE(folder.ok());
  std::filesystem::create_directories(folder->path() / "solmark" / "arch");
  const std::string text = replaced(valid_text(), "title = \"NVIDIA H100 SXM5 80 GB\"", "title = \"mine\"");
  ASSERT_TRUE(write_file(folder->path() / "solmark" / "arch" / "h100-sxm.toml", text).ok());
  ::setenv("XDG_DATA_HOME", folder->path().c_str(), 1);
  const auto arch = find_arch("h100-sxm");
  ::unsetenv("XDG_DATA_HOME");
  ASSERT_TRUE(arch.ok()) << arch.error().text();
  EXPECT_EQ(arch->title, "mine");
  EXPECT_EQ(find_arch("h100-sxm")->title, "NVIDIA H100 SXM5 80 GB");
}

TEST(Clock, PoliciesGiveDifferentPeaks) {
  const Arch arch = *find_arch("h100-sxm");
  const auto peak = [&arch](const Clock& clock) {
    return peak_flop_per_s(arch, Pipe::kTensor, Format::kBf16, clock)->per_s;
  };
  EXPECT_NEAR(peak({ClockPolicy::kDatasheet, {}}), 989.4e12, 1e12);
  EXPECT_NEAR(peak({ClockPolicy::kMax, {}}), 1070.5e12, 1e12);
  EXPECT_NEAR(peak({ClockPolicy::kLocked, 1.5e9}), 811e12, 1e12);
  EXPECT_FALSE(clock_hz(arch, {ClockPolicy::kLocked, {}}).ok());
}

TEST(Clock, IsReadFromTheCommandLine) {
  EXPECT_EQ(clock_from_text("max")->policy, ClockPolicy::kMax);
  EXPECT_EQ(*clock_from_text("locked:1.5")->locked_hz, 1.5e9);
  EXPECT_FALSE(clock_from_text("locked:").ok());
  EXPECT_FALSE(clock_from_text("locked:1.5x").ok());
  EXPECT_FALSE(clock_from_text("fast").ok());
}

TEST(ArchToml, RoundTrips) {
  const Arch arch = *find_arch("h200-sxm");
  const auto again = parse_arch(arch_to_toml(arch), "again");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(arch_to_toml(*again), arch_to_toml(arch));
  EXPECT_EQ(again->links.size(), arch.links.size());
  EXPECT_EQ(again->memory_bytes_per_s->value, arch.memory_bytes_per_s->value);
  EXPECT_EQ(again->memory_bytes_per_s->source, arch.memory_bytes_per_s->source);
}

TEST(ArchToml, UnknownKeyIsAnErrorWithItsPlace) {
  const auto arch = parse_arch(replaced(valid_text(), "[units]\n", "[units]\nkount = 3\n"), "f.toml");
  ASSERT_FALSE(arch.ok());
  EXPECT_THAT(arch.error().text(), HasSubstr("units.kount"));
  EXPECT_THAT(arch.error().where, ::testing::MatchesRegex("f.toml:[0-9]+:[0-9]+"));
}

struct BadFile {
  const char* from;
  const char* to;
  const char* message;
};

class BadFiles : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, AreRefused) {
  const auto arch = parse_arch(replaced(valid_text(), GetParam().from, GetParam().to), "f.toml");
  ASSERT_FALSE(arch.ok());
  EXPECT_THAT(arch.error().text(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFiles,
    ::testing::Values(BadFile{"version = 1", "version = 2", "version"},
                      BadFile{"kind = \"gpu\"", "kind = \"tpu\"", "kind"},
                      BadFile{"value = 132, source = \"peaks\"", "value = 132, source = \"nowhere\"",
                              "nowhere"},
                      BadFile{"value = 132,", "value = -132,", "positive"},
                      BadFile{"certainty = \"vendor\"", "certainty = \"sure\"", "sure"},
                      BadFile{"[tensor]", "[tensor]\nfp5 = 1", "fp5"},
                      BadFile{"fp16 = { value = 4096", "fp16 = { value = 8192", "printed peak"},
                      BadFile{"max_hz = { value = 1.98e9", "max_hz = { value = 1.2e9", "max_hz"},
                      BadFile{"[[printed]]", "[printed", "expected"}, BadFile{"name = ", "nome = ", "nome"},
                      BadFile{"reduces_in_fabric = true", "reduces_in_fabric = 1", "reduces_in_fabric"}));

TEST(Arch, OnChipCapacityAddsAllStores) {
  EXPECT_NEAR(on_chip_bytes(*find_arch("h100-sxm")), 52428800.0 + 132 * (256 + 256) * 1024.0, 1);
}

}  // namespace
}  // namespace solmark::arch
