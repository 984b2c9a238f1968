#include "problem/safetensors.h"

#include <gmock/gmock.h>

#include "problem/problem_fixture.h"

namespace solmark::problem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string blob(const std::string& header, std::size_t data_bytes) {
  std::string out;
  for (std::size_t i = 0, n = header.size(); i < 8; ++i, n >>= 8) out += static_cast<char>(n & 0xff);
  return out + header + std::string(data_bytes, '\0');
}
auto decode(const std::string& bytes) {
  return decode_safetensors_header(bytes, bytes.size(), "t.safetensors");
}
std::string entry(const std::string& dtype, const std::string& shape, std::uint64_t begin,
                  std::uint64_t end) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" + std::to_string(begin) +
         "," + std::to_string(end) + "]}";
}
std::string error_of(const std::string& header, std::size_t data_bytes) {
  return bad_input(decode(blob(header, data_bytes)));
}

TEST(Safetensors, ReadsEntriesInOrderOfTheirBytes) {
  std::string header = R"({"__metadata__":{"format":"pt"},"b":)" + entry("F32", "[2,3]", 4, 28) + R"(,"a":)" +
                       entry("BF16", "[2]", 0, 4) + R"(,"e":)" + entry("I64", "[0,7]", 28, 28) + "}  ";
  auto entries = decode(blob(header, 28));
  ASSERT_TRUE(entries.ok()) << entries.error().text();
  ASSERT_THAT(*entries, SizeIs(3));
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].name, "b");
  EXPECT_EQ((*entries)[1].dtype, "F32");
  EXPECT_THAT((*entries)[1].shape, ElementsAre(2, 3));
  EXPECT_EQ((*entries)[1].begin, 8 + header.size() + 4);
  EXPECT_EQ((*entries)[1].end, 8 + header.size() + 28);
  EXPECT_TRUE(decode(blob("{}", 0)).ok());
}

TEST(Safetensors, KnowsTheSizeOfEveryDtype) {
  const std::vector<std::pair<const char*, std::uint64_t>> sizes = {
      {"F64", 64}, {"F32", 32}, {"F16", 16}, {"BF16", 16}, {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"I64", 64}, {"I32", 32}, {"I16", 16}, {"I8", 8},    {"U8", 8},      {"BOOL", 8},
      {"F4", 4},   {"U64", 64}, {"U32", 32}, {"U16", 16}};
  for (const auto& [name, bits] : sizes) {
    EXPECT_TRUE(decode(blob("{\"t\":" + entry(name, "[4]", 0, bits / 2) + "}", bits / 2)).ok()) << name;
    EXPECT_THAT(error_of("{\"t\":" + entry(name, "[4]", 0, bits / 2 + 1) + "}", bits / 2 + 1),
                HasSubstr(" needs " + std::to_string(bits / 2) + " bytes, not"))
        << name;
  }
  EXPECT_THAT(error_of("{\"t\":" + entry("F128", "[1]", 0, 16) + "}", 16),
              HasSubstr("unknown dtype \"F128\""));
  EXPECT_THAT(error_of("{\"t\":" + entry("F4", "[3]", 0, 2) + "}", 2), HasSubstr("does not end on a byte"));
}

TEST(Safetensors, RangesTileTheData) {
  std::string a = "{\"a\":" + entry("U8", "[4]", 0, 4);
  EXPECT_THAT(error_of(a + ",\"b\":" + entry("U8", "[4]", 2, 6) + "}", 6),
              HasSubstr("tensor \"b\" overlaps the one before"));
  EXPECT_THAT(error_of(a + ",\"b\":" + entry("U8", "[2]", 6, 8) + "}", 8),
              HasSubstr("2 bytes before tensor \"b\" belong to no tensor"));
  EXPECT_THAT(error_of("{\"a\":" + entry("U8", "[2]", 1, 3) + "}", 3),
              HasSubstr("1 bytes before tensor \"a\""));
  EXPECT_THAT(error_of(a + "}", 7), HasSubstr("3 bytes after the last tensor"));
  EXPECT_THAT(error_of(a + "}", 3), HasSubstr("ends at byte 4 of 3; the file is cut short: fetch it again"));
  EXPECT_THAT(error_of("{\"a\":" + entry("U8", "[2]", 3, 1) + "}", 3),
              HasSubstr("begins at 3 after its end at 1"));
}

TEST(Safetensors, HeadersAreBounded) {
  EXPECT_THAT(bad_input(decode("short")), HasSubstr("t.safetensors: too short for a safetensors file"));
  EXPECT_THAT(bad_input(decode(std::string(8, '\xff'))),
              HasSubstr("more than 100000000; is it a safetensors file?"));
  std::string cut = blob("{\"a\":" + entry("U8", "[4]", 0, 4) + "}", 0);
  EXPECT_THAT(bad_input(decode(cut.substr(0, cut.size() - 1))), HasSubstr("is cut short"));
  EXPECT_THAT(error_of("[]", 0), HasSubstr("does not start with \"{\""));
  EXPECT_THAT(error_of("", 0), HasSubstr("does not start with \"{\""));
  EXPECT_THAT(error_of("{\"a\":1,", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(R"({"a":{},"a":{}})", 0), HasSubstr("duplicate key \"a\""));
  EXPECT_THAT(error_of(R"({"a":{}})", 0),
              HasSubstr("t.safetensors (header):1:6 (/a): key \"dtype\" is missing"));
  EXPECT_THAT(bad_input(decode("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
              HasSubstr("a Git LFS pointer, not the tensors; fetch the data with `git lfs pull`"));
}

TEST(Safetensors, ShapesAndOffsetsAreChecked) {
  EXPECT_THAT(error_of("{\"t\":" + entry("U8", "[-1]", 0, 0) + "}", 0),
              HasSubstr("must not be negative: -1"));
  EXPECT_THAT(error_of("{\"t\":" + entry("F64", "[4294967296,4294967296]", 0, 0) + "}", 0),
              HasSubstr("too large"));
  EXPECT_THAT(error_of("{\"t\":" + entry("F32", "[4611686018427387905]", 0, 4) + "}", 4),
              HasSubstr("too large"));
  EXPECT_THAT(error_of(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1),
              HasSubstr("must be [begin, end]"));
  EXPECT_THAT(error_of(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1.5]}})", 1),
              HasSubstr("whole number"));
  EXPECT_TRUE(
      decode(blob("{\"t\":" + entry("U8", "[0,4611686018427387904,4611686018427387904]", 0, 0) + "}", 0))
          .ok());
}

class CheckBlob : public testing::Test {
 protected:
  TemporaryFolder folder = TemporaryFolder::create("blob").value();
  std::filesystem::path file(const std::string& dtype, const std::string& shape, std::uint64_t bytes) {
    return put(folder.path() / "t.safetensors",
               blob("{\"key\":" + entry(dtype, shape, 0, bytes) + "}", bytes));
  }
};

TEST_F(CheckBlob, AcceptsTheDeclaredTensorOnly) {
  const std::vector<std::pair<const char*, Dtype>> names = {{"F64", Dtype::kFloat64},
                                                            {"F32", Dtype::kFloat32},
                                                            {"F16", Dtype::kFloat16},
                                                            {"BF16", Dtype::kBfloat16},
                                                            {"F8_E4M3", Dtype::kFloat8E4m3fn},
                                                            {"F8_E5M2", Dtype::kFloat8E5m2},
                                                            {"I64", Dtype::kInt64},
                                                            {"I32", Dtype::kInt32},
                                                            {"I16", Dtype::kInt16},
                                                            {"I8", Dtype::kInt8},
                                                            {"U8", Dtype::kUint8},
                                                            {"BOOL", Dtype::kBool}};
  for (const auto& [name, dtype] : names) {
    auto path = file(name, "[2,3]", 6 * dtype_bits(dtype) / 8);
    for (const auto& [other, other_dtype] : names) {
      EXPECT_EQ(check_blob(path, "key", other_dtype, {2, 3}).ok(), dtype == other_dtype)
          << name << " " << other;
    }
  }
  auto path = file("BF16", "[2,3]", 12);
  EXPECT_THAT(bad_input(check_blob(path, "key", Dtype::kFloat16, {2, 3})),
              HasSubstr("tensor \"key\" is BF16, the definition says float16 (F16)"));
  EXPECT_THAT(bad_input(check_blob(path, "key", Dtype::kBfloat16, {3, 2})),
              HasSubstr("tensor \"key\" has shape [2, 3], the workload says [3, 2]"));
  EXPECT_THAT(bad_input(check_blob(path, "keys", Dtype::kBfloat16, {2, 3})),
              HasSubstr("no tensor \"keys\" in the file; did you mean \"key\"?"));
  EXPECT_THAT(bad_input(check_blob(folder.path() / "none", "key", Dtype::kInt8, {})),
              HasSubstr("none: no such file"));
}

TEST_F(CheckBlob, PackedFp4MayLieAsBytesOrAsF4) {
  for (Dtype dtype : {Dtype::kFloat4E2m1, Dtype::kFloat4E2m1x2}) {
    EXPECT_TRUE(check_blob(file("U8", "[4,8]", 32), "key", dtype, {4, 8}).ok());
    EXPECT_TRUE(check_blob(file("I8", "[4,8]", 32), "key", dtype, {4, 8}).ok());
    EXPECT_TRUE(check_blob(file("F4", "[4,16]", 32), "key", dtype, {4, 8}).ok());
    EXPECT_THAT(bad_input(check_blob(file("F4", "[4,8]", 16), "key", dtype, {4, 8})),
                HasSubstr("has shape [4, 8]"));
    EXPECT_THAT(bad_input(check_blob(file("U8", "[4,16]", 64), "key", dtype, {4, 8})),
                HasSubstr("has shape [4, 16]"));
    EXPECT_THAT(bad_input(check_blob(file("F16", "[4,8]", 64), "key", dtype, {4, 8})), HasSubstr("is F16"));
  }
}

TEST_F(CheckBlob, OnlyTheHeaderIsRead) {
  auto path = folder.path() / "large.safetensors";
  std::uint64_t bytes = std::uint64_t{1} << 40;  // a sparse file: reading its data would never end
  put(path, blob("{\"key\":" + entry("U8", "[1099511627776]", 0, bytes) + "}", 0));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + bytes);
  EXPECT_TRUE(check_blob(path, "key", Dtype::kUint8, {static_cast<std::int64_t>(bytes)}).ok());
}

}  // namespace
}  // namespace solmark::problem
