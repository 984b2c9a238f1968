#include "arch/arch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_GE(printed, 120);
}

TEST(Registry, KnowsTheParts) {
  for (const char* name :
       {"a100-sxm", "a6000", "b200", "b300", "gb200", "h100-pcie", "h100-sxm", "h20", "h200-sxm", "l4",
        "l40s", "mi300x", "mi325x", "mi355x", "rtx-pro-6000", "rtx4090", "rtx5090"})
    EXPECT_TRUE(find_arch(name).ok()) << name;
}

// A rate that is said to be arithmetic on a printed peak has that peak beside it, and so is checked.
TEST(Registry, EveryDerivedTensorRateHasItsPrintedPeak) {
  for (const auto& entry : list_archs()) {
    const Arch arch = *find_arch(entry.name);
    for (const auto& [format, rate] : arch.tensor) {
      if (rate.certainty != Certainty::kDerived) continue;
      const bool printed = std::any_of(
          arch.printed_peaks.begin(), arch.printed_peaks.end(),
          [&, f = format](const PrintedPeak& p) { return p.pipe == Pipe::kTensor && p.format == f; });
      EXPECT_TRUE(printed) << entry.name << " " << format_name(format);
    }
  }
}

// What a machine of each family must say at least: bounds use these, and a slip of a digit shows here.
TEST(Registry, FiguresAreOfTheRightSize) {
  for (const auto& entry : list_archs()) {
    const Arch arch = *find_arch(entry.name);
    SCOPED_TRACE(entry.name);
    const auto within = [](const std::optional<Figure>& figure, double low, double high) {
      return figure && figure->value >= low && figure->value <= high;
    };
    EXPECT_TRUE(within(arch.units, 50, 400));
    EXPECT_TRUE(within(arch.clock_max_hz, 1.4e9, 3.2e9));
    EXPECT_TRUE(within(arch.memory_bytes, 24e9, 300e9));
    EXPECT_TRUE(within(arch.memory_bytes_per_s, 3e11, 8.2e12));
    EXPECT_TRUE(within(arch.memory_sector_bytes, 32, 32));
    EXPECT_TRUE(within(arch.cache_bytes, 6e6, 310e6));
    EXPECT_TRUE(within(arch.shared_bytes_per_unit, 96 << 10, 256 << 10));
    EXPECT_TRUE(within(arch.register_bytes_per_unit, 256 << 10, 512 << 10));
    EXPECT_TRUE(within(arch.latency_floor_s, 1e-7, 2e-7));
    EXPECT_GE(arch.vector.at(Format::kFp16).value, arch.vector.at(Format::kFp32).value);
    if (arch.special_results_per_clock_unit) {
      EXPECT_TRUE(within(arch.special_results_per_clock_unit, 16, 32));
    }
  }
}

TEST(Registry, SuggestsTheNearestName) {
  const auto arch = find_arch("h100-smx");
  ASSERT_FALSE(arch.ok());
  EXPECT_THAT(arch.error().text(), HasSubstr("did you mean h100-sxm"));
}

TEST(Registry, SuggestsTheNameThatBeginsSo) {
  const auto arch = find_arch("h200");
  ASSERT_FALSE(arch.ok());
  EXPECT_THAT(arch.error().text(), HasSubstr("did you mean h200-sxm?"));
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
  for (const char* text : {"locked:1.5", "locked:1.5GHz", "locked:1.5ghz", "locked:1500", "locked:1500MHz"})
    EXPECT_EQ(*clock_from_text(text)->locked_hz, 1.5e9) << text;
  EXPECT_FALSE(clock_from_text("locked:").ok());
  for (const char* text : {"locked:1.5x", "locked:50", "locked:-1", "locked:1.5MHz", "locked:1500GHz",
                           "locked:nan", "locked:inf", "locked:1.5 GHz"})
    EXPECT_FALSE(clock_from_text(text).ok()) << text;
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
