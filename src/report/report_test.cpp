#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/verdict_table.h"

namespace solmark::report {
namespace {
using testing::HasSubstr;

TEST(Duration, PicksTheUnit) {
  EXPECT_EQ(duration(1.5), "1.500 s");
  EXPECT_EQ(duration(0.0123), "12.30 ms");
  EXPECT_EQ(duration(1.737e-6), "1.737 µs");
  EXPECT_EQ(duration(2e-7), "200.0 ns");
  EXPECT_EQ(duration(123.4e-6), "123.4 µs");
}

judge::Trace trace(const std::string& uuid, judge::TraceStatus status) {
  judge::Trace t;
  t.uuid = uuid;
  t.workload_json = R"({"axes":{"n":4}})";
  t.status = status;
  t.log = status == judge::TraceStatus::kPassed ? "" : "because";
  t.findings.push_back({"oracle", "note", "same words"});
  return t;
}

TEST(VerdictTable, SaysASentenceOnce) {
  std::vector<judge::Trace> traces = {trace("aaaaaaaa-1", judge::TraceStatus::kPassed),
                                      trace("bbbbbbbb-2", judge::TraceStatus::kTimeout)};
  std::string details = VerdictTable::details(traces);
  EXPECT_THAT(details, HasSubstr("all note [oracle]: same words\n"));
  EXPECT_THAT(details, HasSubstr("bbbbbbbb TIMEOUT: because\n"));
  EXPECT_EQ(details.find("same words"), details.rfind("same words"));
  EXPECT_THAT(VerdictTable::footer(traces), HasSubstr("1 of 2 workloads passed"));
  EXPECT_THAT(VerdictTable::row(traces[1]), HasSubstr("n=4"));
}

}  // namespace
}  // namespace solmark::report
