#include "problem/suggestion.h"

#include <gtest/gtest.h>

namespace solmark::problem {
namespace {

TEST(Suggestion, IsTheNearestNameWithinAThird) {
  EXPECT_EQ(nearest_name("dtpye", {"shape", "dtype"}), "dtype");
  EXPECT_EQ(nearest_name("Shape", {"shape", "dtype"}), "shape");
  EXPECT_EQ(nearest_name("comment", {"shape", "dtype"}), "");
  EXPECT_EQ(nearest_name("H", {"B"}), "");
  EXPECT_EQ(nearest_name("H", {"H2"}), "H2");
  EXPECT_EQ(nearest_name(std::string(100, 'a'), {std::string(100, 'a')}), "");
}

TEST(Suggestion, ListsTheKnownWhenNoneIsNear) {
  EXPECT_EQ(suggest_name("x", {}), "there are none");
  EXPECT_EQ(suggest_name("other", {"shape", "dtype"}), "known: shape, dtype");
  EXPECT_EQ(suggest_name("zzzz", std::vector<std::string>(13, "a")),
            "known: a, a, a, a, a, a, a, a, a, a, a, a, …");
}

}  // namespace
}  // namespace solmark::problem
