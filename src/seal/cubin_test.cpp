#include "seal/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "base/files.h"
#include "seal/test_elf.h"

namespace solmark::seal {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view bytes) {
  const auto cubin = Cubin::parse(bytes);
  return cubin.ok() ? "" : cubin.error().text();
}

TEST(Cubin, ReadsAHandMadeImage) {
  const std::string image = TestElf().build();
  const auto cubin = Cubin::parse(image);
  ASSERT_TRUE(cubin.ok()) << cubin.error().text();
  ASSERT_EQ(cubin->functions().size(), 2U);
  EXPECT_TRUE(cubin->has_kernel("kernel"));
  EXPECT_FALSE(cubin->has_kernel("device_function"));
  ASSERT_EQ(cubin->objects().size(), 3U);
  const CubinObject& set = cubin->objects()[0];
  EXPECT_EQ(set.name, "g_set");
  EXPECT_EQ(set.kind, CubinObject::Kind::kGlobal);
  EXPECT_EQ(cubin->initial_bytes(set), std::string_view("ABCDEFGHIJKLMNOPQRSTUVWX"));
  const CubinObject& constant = cubin->objects()[1];
  EXPECT_EQ(constant.kind, CubinObject::Kind::kConstant);
  EXPECT_EQ(cubin->objects()[2].name, "g_zero");
  EXPECT_FALSE(cubin->objects()[2].initialised);
  EXPECT_EQ(cubin->initial_bytes(cubin->objects()[2]), "");
}

TEST(Cubin, SaysWhichBytesTheLoaderPatches) {
  TestElf elf;
  elf.patch_global_at = {8};
  const std::string image = elf.build();
  const auto cubin = Cubin::parse(image);
  ASSERT_TRUE(cubin.ok()) << cubin.error().text();
  const auto ranges = cubin->patched_ranges(cubin->objects()[0]);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0], std::make_pair(std::uint64_t{8}, std::uint64_t{16}));
  EXPECT_TRUE(cubin->patched_ranges(cubin->objects()[1]).empty());
}

TEST(Cubin, ClipsAPatchAtTheEndOfItsVariable) {
  TestElf elf;
  elf.patch_global_at = {20, UINT64_MAX - 3};
  const std::string image = elf.build();
  const auto cubin = Cubin::parse(image);
  ASSERT_TRUE(cubin.ok());
  const auto ranges = cubin->patched_ranges(cubin->objects()[0]);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0], std::make_pair(std::uint64_t{20}, std::uint64_t{24}));
}

TEST(Cubin, KnowsAnImageThatLaunchesFromTheDevice) {
  TestElf elf;
  elf.extra_symbol = "__cudaCDP2LaunchDeviceV2";
  const std::string image = elf.build();
  ASSERT_TRUE(Cubin::parse(image).ok());
  EXPECT_TRUE(Cubin::parse(image)->launches_from_device());
  const std::string plain = TestElf().build();
  EXPECT_FALSE(Cubin::parse(plain)->launches_from_device());
}

TEST(Cubin, DigestTellsCodeAndVariablesApart) {
  const std::string one = TestElf().build();
  const std::string digest = Cubin::parse(one)->kernel_digest("kernel");
  EXPECT_FALSE(digest.empty());
  EXPECT_EQ(Cubin::parse(one)->kernel_digest("no_such"), "");

  TestElf elf;
  elf.other_text = "device code that the kernel does not call";
  const std::string other_function = elf.build();
  EXPECT_EQ(Cubin::parse(other_function)->kernel_digest("kernel"), digest);
  elf.kernel_calls = true;
  const std::string calling = elf.build();
  elf.other_text = "device code that the kernel does call!!!!";
  const std::string calling_other = elf.build();
  EXPECT_NE(Cubin::parse(calling)->kernel_digest("kernel"),
            Cubin::parse(calling_other)->kernel_digest("kernel"));

  TestElf code;
  code.kernel_text = "0123456789abcdeX";
  const std::string changed_code = code.build();
  EXPECT_NE(Cubin::parse(changed_code)->kernel_digest("kernel"), digest);
  TestElf global;
  global.global_content = "ABCDEFGHIJKLMNOPQRSTUVWY";
  const std::string changed_global = global.build();
  EXPECT_NE(Cubin::parse(changed_global)->kernel_digest("kernel"), digest);
}

TEST(Cubin, RefusesWhatIsNoCubin) {
  EXPECT_THAT(error_of(""), HasSubstr("shorter than an ELF header"));
  EXPECT_THAT(error_of(std::string(64, 'x')), HasSubstr("not a little-endian ELF64"));
  std::string image = TestElf().build();
  image[4] = 1;  // 32 bits
  EXPECT_THAT(error_of(image), HasSubstr("not a little-endian ELF64"));
  image = TestElf().build();
  image[18] = 62;  // x86-64
  EXPECT_THAT(error_of(image), HasSubstr("machine 62"));
}

// Puts a number over the field at an offset of the header or of a table entry.
template <class Integer>
std::string with(std::string image, std::size_t at, Integer value) {
  std::memcpy(image.data() + at, &value, sizeof value);
  return image;
}

TEST(Cubin, RefusesEveryWayOutOfBounds) {
  const TestElf elf;
  const std::string image = elf.build();
  const std::size_t table = elf.section_table_at();
  const auto section = [&](std::size_t index) { return table + index * 64; };
  const auto big = std::uint64_t{1} << 62;
  EXPECT_THAT(error_of(with(image, 40, big)), HasSubstr("no section table"));
  EXPECT_THAT(error_of(with(image, 40, UINT64_MAX)), HasSubstr("no section table"));
  EXPECT_THAT(error_of(with<std::uint16_t>(image, 60, 0x7fff)), HasSubstr("reach beyond its end"));
  EXPECT_THAT(error_of(with<std::uint16_t>(image, 58, 40)), HasSubstr("another size"));
  EXPECT_THAT(error_of(with<std::uint16_t>(image, 62, 999)), HasSubstr("names are in no section"));
  // count 0 means that the first section header holds it
  EXPECT_THAT(error_of(with(with<std::uint16_t>(image, 60, 0), section(0) + 32, big)),
              HasSubstr("reach beyond"));
  EXPECT_THAT(error_of(with(image, section(TestElf::kText) + 24, big)), HasSubstr("reaches beyond its end"));
  EXPECT_THAT(error_of(with(image, section(TestElf::kText) + 32, UINT64_MAX)),
              HasSubstr("reaches beyond its end"));
  EXPECT_THAT(error_of(with<std::uint32_t>(image, section(TestElf::kText), 1U << 30)),
              HasSubstr("outside the string"));
  EXPECT_THAT(error_of(with<std::uint32_t>(image, section(TestElf::kSymbols) + 40, 999)),
              HasSubstr("symbol names are in no section"));
  EXPECT_THAT(error_of(with(image, section(TestElf::kSymbols) + 32, std::uint64_t{25})),
              HasSubstr("broken length"));
  EXPECT_THAT(error_of(with<std::uint32_t>(image, section(TestElf::kSymbols) + 4, 1)),
              HasSubstr("no symbol table"));
  EXPECT_THAT(error_of(with<std::uint32_t>(image, section(TestElf::kRelocations) + 44, 999)),
              HasSubstr("patches no section"));
  EXPECT_THAT(error_of(with(image, section(TestElf::kRelocations) + 32, std::uint64_t{7})),
              HasSubstr("broken length"));
  const auto symbol = [&](std::size_t index) { return elf.symbols_at() + index * 24; };
  EXPECT_THAT(error_of(with<std::uint32_t>(image, symbol(1), 1U << 30)), HasSubstr("outside the string"));
  EXPECT_THAT(error_of(with<std::uint16_t>(image, symbol(1) + 6, 0x1000)), HasSubstr("is in no section"));
  EXPECT_THAT(error_of(with(image, symbol(3) + 8, std::uint64_t{24})),
              HasSubstr("reaches beyond its section"));
  EXPECT_THAT(error_of(with(image, symbol(3) + 16, big)), HasSubstr("reaches beyond its section"));
  EXPECT_THAT(error_of(with<std::uint16_t>(image, symbol(1) + 6, 0xffff)),
              HasSubstr("has no section number"));
  EXPECT_THAT(error_of(with(image, elf.relocations_at() + 8, std::uint64_t{999} << 32)),
              HasSubstr("symbol that is not"));
}

// Bytes that the image does not hold are no initial bytes, whatever keeps them out.
TEST(Cubin, VariablesOfASectionWithoutContentAreNotInitialised) {
  const TestElf elf;
  const std::string image = elf.build();
  for (std::size_t index = 0; index < 16; ++index) {
    for (const std::uint32_t type : {0U, 8U}) {
      const std::size_t at = elf.section_table_at() + index * 64 + 4;
      if (at + 4 > image.size()) break;
      const std::string changed = with<std::uint32_t>(image, at, type);
      const auto cubin = Cubin::parse(changed);
      if (!cubin.ok()) continue;
      for (const CubinObject& object : cubin->objects())
        EXPECT_EQ(cubin->initial_bytes(object).size(), object.initialised ? object.size : 0) << index;
    }
  }
}

TEST(Cubin, SurvivesEveryTruncationAndRandomDamage) {
  TestElf elf;
  elf.patch_global_at = {8};
  const std::string image = elf.build();
  for (std::size_t length = 0; length < image.size(); ++length) {
    const auto cubin = Cubin::parse(std::string_view(image).substr(0, length));
    EXPECT_FALSE(cubin.ok()) << length;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = image;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto cubin = Cubin::parse(damaged);
    if (!cubin.ok()) continue;
    for (const CubinObject& object : cubin->objects()) {
      (void)cubin->initial_bytes(object);
      (void)cubin->patched_ranges(object);
    }
    for (const CubinFunction& function : cubin->functions()) (void)cubin->kernel_digest(function.name);
  }
}

#ifdef SOLMARK_TEST_CUBIN
TEST(Cubin, ReadsWhatTheCompilerMakes) {
  const auto image = read_file(SOLMARK_TEST_CUBIN);
  ASSERT_TRUE(image.ok()) << image.error().text();
  const auto cubin = Cubin::parse(*image);
  ASSERT_TRUE(cubin.ok()) << cubin.error().text();
  EXPECT_TRUE(cubin->has_kernel("_Z12kernel_plainPKfPfi"));
  EXPECT_TRUE(cubin->has_kernel("_Z14kernel_callingPf"));
  EXPECT_TRUE(cubin->has_kernel("_Z13kernel_sharedILi3EEvPf"));
  EXPECT_FALSE(cubin->has_kernel("_Z6helperf"));
  EXPECT_FALSE(cubin->launches_from_device());
  std::map<std::string_view, CubinObject> objects;
  for (const CubinObject& object : cubin->objects()) objects[object.name] = object;
  ASSERT_TRUE(objects.contains("g_scale") && objects.contains("g_count") && objects.contains("g_hidden") &&
              objects.contains("g_pointer") && objects.contains("c_table") && objects.contains("c_initial"));
  EXPECT_EQ(objects["g_scale"].size, 4U);
  float scale = 0;
  std::memcpy(&scale, cubin->initial_bytes(objects["g_scale"]).data(), sizeof scale);
  EXPECT_EQ(scale, 1.5F);
  EXPECT_FALSE(objects["g_count"].initialised);
  EXPECT_EQ(objects["c_table"].kind, CubinObject::Kind::kConstant);
  EXPECT_EQ(objects["c_table"].size, 64U);
  int initial[4] = {};
  ASSERT_EQ(cubin->initial_bytes(objects["c_initial"]).size(), sizeof initial);
  std::memcpy(initial, cubin->initial_bytes(objects["c_initial"]).data(), sizeof initial);
  EXPECT_EQ(initial[3], 4);
  // The pointer's value is the loader's business, the scale's is not.
  EXPECT_EQ(cubin->patched_ranges(objects["g_pointer"]).size(), 1U);
  EXPECT_TRUE(cubin->patched_ranges(objects["g_scale"]).empty());
  EXPECT_FALSE(cubin->kernel_digest("_Z12kernel_plainPKfPfi").empty());
}
#endif

}  // namespace
}  // namespace solmark::seal
