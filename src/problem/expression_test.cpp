#include "problem/expression.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

namespace solmark::problem {
namespace {

using testing::HasSubstr;
using Grammar = Expression::Grammar;
using Values = std::map<std::string, std::int64_t>;

Result<Number> evaluate(std::string_view text, Grammar grammar = Grammar::kArithmetic,
                        const Values& values = {}) {
  SOLMARK_TRY(Expression e, Expression::parse(text, grammar));
  return e.evaluate(values);
}
std::int64_t whole(std::string_view text, const Values& values = {}) {
  auto value = evaluate_axis(text, values);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().text());
  return value.ok() ? *value : -999999;
}
bool truth(std::string_view text, const Values& values = {}) {
  auto value = evaluate(text, Grammar::kCondition, values);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().text());
  return value.ok() && is_truthy(*value);
}
std::string error_of(std::string_view text, Grammar grammar = Grammar::kArithmetic,
                     const Values& values = {}) {
  auto value = evaluate(text, grammar, values);
  return value.ok() ? "(no error)" : value.error().text();
}

// tests/data/expressions.tsv holds what Python's own evaluator says.
TEST(Expression, AgreesWithPython) {
  std::ifstream in(std::string(SOLMARK_SOURCE_DIR) + "/tests/data/expressions.tsv");
  ASSERT_TRUE(in.good());
  Values values;
  std::string line;
  std::getline(in, line);
  std::istringstream names(line.substr(std::string("# names ").size()));
  for (std::string pair; names >> pair;) {
    std::size_t cut = pair.find('=');
    values[pair.substr(0, cut)] = std::stoll(pair.substr(cut + 1));
  }
  int rows = 0;
  while (std::getline(in, line)) {
    ++rows;
    std::size_t first = line.find('\t');
    std::size_t second = line.find('\t', first + 1);
    std::string text = line.substr(first + 1, second - first - 1);
    std::string wanted = line.substr(second + 1);
    bool condition = line.substr(0, first) == "condition";
    auto got = evaluate(text, condition ? Grammar::kCondition : Grammar::kArithmetic, values);
    if (wanted == "error") {
      EXPECT_FALSE(got.ok()) << text << " gave " << to_text(*got);
      continue;
    }
    ASSERT_TRUE(got.ok()) << text << ": " << got.error().text();
    if (condition) {
      EXPECT_EQ(is_truthy(*got), wanted == "bool:1") << text;
    } else if (wanted.rfind("int:", 0) == 0) {
      ASSERT_TRUE(std::holds_alternative<std::int64_t>(*got)) << text << " must stay an integer";
      EXPECT_EQ(std::get<std::int64_t>(*got), std::stoll(wanted.substr(4))) << text;
    } else {
      ASSERT_TRUE(std::holds_alternative<double>(*got)) << text << " must be a float";
      double real = std::strtod(wanted.c_str() + 6, nullptr);
      EXPECT_EQ(std::get<double>(*got), real) << text;
      EXPECT_EQ(std::signbit(std::get<double>(*got)), std::signbit(real)) << text;
    }
  }
  EXPECT_GE(rows, 500);
}

TEST(Expression, FollowsPythonsPrecedence) {
  EXPECT_EQ(whole("2 + 3 * 4"), 14);
  EXPECT_EQ(whole("-2 ** 2"), -4);
  EXPECT_EQ(whole("2 ** 3 ** 2"), 512);
  EXPECT_EQ(whole("(2 ** 3) ** 2"), 64);
  EXPECT_EQ(whole("100 - 10 - 1"), 89);
  EXPECT_EQ(whole("100 // 7 // 2"), 7);
  EXPECT_EQ(whole("--3"), 3);
  EXPECT_EQ(whole("2 ** -1 * 4"), 2);
}

TEST(Expression, FloorsTowardsMinusInfinity) {
  EXPECT_EQ(whole("-7 // 2"), -4);
  EXPECT_EQ(whole("-7 % 2"), 1);
  EXPECT_EQ(whole("7 % -2"), -1);
  EXPECT_EQ(whole("7 // -2"), -4);
  EXPECT_EQ(std::get<double>(*evaluate("-7.5 % 2")), 0.5);
}

TEST(Expression, AnAxisIsAWholeNumber) {
  EXPECT_EQ(whole("1e3"), 1000);
  EXPECT_EQ(whole("8 / 2"), 4);
  EXPECT_THAT(evaluate_axis("7 / 2", {}).error().text(), HasSubstr("3.5 is not a whole number; use //"));
  EXPECT_THAT(evaluate_axis("1e300", {}).error().text(), HasSubstr("overflow"));
  EXPECT_THAT(evaluate_axis("1e300 * 1e300", {}).error().text(), HasSubstr("not a whole number"));
}

TEST(Expression, OverflowAndZeroDivisionAreErrors) {
  EXPECT_THAT(error_of("2 ** 63"), HasSubstr("integer overflow"));
  EXPECT_EQ(whole("2 ** 62"), std::int64_t{1} << 62);
  EXPECT_EQ(whole("(-2) ** 63"), std::numeric_limits<std::int64_t>::min());
  EXPECT_THAT(error_of("-((-2) ** 63)"), HasSubstr("integer overflow"));
  EXPECT_THAT(error_of("(-2) ** 63 // -1"), HasSubstr("integer overflow"));
  EXPECT_EQ(whole("(-2) ** 63 % -1"), 0);
  EXPECT_THAT(error_of("9223372036854775807 + 1"), HasSubstr("integer overflow"));
  EXPECT_THAT(error_of("-9223372036854775807 - 2"), HasSubstr("integer overflow"));
  EXPECT_THAT(error_of("4294967296 * 4294967296"), HasSubstr("integer overflow"));
  EXPECT_THAT(error_of("9223372036854775808"), HasSubstr("does not fit 64 bits at column 1"));
  for (const char* text :
       {"1 / 0", "1 // 0", "1 % 0", "1.0 / 0", "1 // 0.0", "1 % 0.0", "0 ** -1", "0.0 ** -0.5"}) {
    EXPECT_THAT(error_of(text), HasSubstr("division by zero")) << text;
  }
  EXPECT_THAT(error_of("(-8) ** 0.5"), HasSubstr("complex"));
  EXPECT_THAT(error_of("10.0 ** 400"), HasSubstr("float overflow"));
}

TEST(Expression, WholeDivisionIsRoundedOnce) {
  // 9007199254740993 is no double: dividing rounded operands would give 9007199254740992.0 / 3
  EXPECT_EQ(std::get<double>(*evaluate("9007199254740993 / 3")), 3002399751580331.0);
  EXPECT_EQ(std::get<double>(*evaluate("-9223372036854775807 / 9223372036854775807")), -1.0);
  EXPECT_EQ(std::get<double>(*evaluate("1 / 9223372036854775807")), std::ldexp(1.0, -63));
}

TEST(Expression, ComparesIntegersAndFloatsExactly) {
  EXPECT_FALSE(truth("9007199254740993 == 9007199254740992.0"));
  EXPECT_TRUE(truth("9007199254740993 > 9007199254740992.0"));
  EXPECT_TRUE(truth("9223372036854775807 < 9223372036854775808.0"));
  EXPECT_TRUE(truth("-1e30 < 0 < 1e30"));
  EXPECT_TRUE(truth("3 > 2.5 and 2.5 > 2 and -3 < -2.5"));
  EXPECT_FALSE(truth("(1e308 * 10) - (1e308 * 10) == (1e308 * 10) - (1e308 * 10)"));  // NaN
  EXPECT_TRUE(truth("(1e308 * 10) - (1e308 * 10) != 0"));
}

TEST(Expression, ConditionsShortCircuitAsInPython) {
  EXPECT_FALSE(truth("0 and 1 // 0"));
  EXPECT_TRUE(truth("1 or 1 // 0"));
  EXPECT_FALSE(truth("1 > 2 > 1 // 0"));
  EXPECT_TRUE(truth("1 < 2 < 3 != 4"));
  EXPECT_FALSE(truth("1 < 3 < 3"));
  EXPECT_FALSE(truth("not 1 == 1"));
  EXPECT_TRUE(truth("not not 5"));
  EXPECT_TRUE(truth("True and not False"));
  EXPECT_TRUE(truth("0 or 0 or 3"));
  EXPECT_FALSE(truth("0 or 0 and 1 // 0"));
  EXPECT_THAT(error_of("1 and 1 // 0", Grammar::kCondition), HasSubstr("division by zero"));
  EXPECT_EQ(std::get<std::int64_t>(*evaluate("(2 or 0) + 1", Grammar::kCondition)),
            3);  // operands, not booleans
}

TEST(Expression, NamesComeFromTheValues) {
  EXPECT_EQ(whole("B * _s1", {{"B", 3}, {"_s1", 5}}), 15);
  EXPECT_THAT(error_of("B * head_dim", Grammar::kArithmetic, {{"B", 3}, {"head_dims", 5}}),
              HasSubstr("\"head_dim\" has no value; did you mean \"head_dims\"?"));
  EXPECT_EQ(Expression::parse("b + a * b + c", Grammar::kArithmetic)->names(),
            (std::vector<std::string>{"b", "a", "c"}));
}

TEST(Expression, SyntaxErrorsNameTheColumn) {
  EXPECT_EQ(error_of(""), "the expression is empty");
  EXPECT_EQ(error_of("  "), "the expression is empty");
  EXPECT_EQ(error_of("1 +"), "the expression ends too early at column 4");
  EXPECT_EQ(error_of("(1 + 2"), "a bracket is not closed at column 7");
  EXPECT_EQ(error_of("1 2"), "unexpected \"2\" at column 3");
  EXPECT_EQ(error_of("1 < 2"), "\"<\" is not arithmetic at column 3");
  EXPECT_EQ(error_of("not 1"), "\"not\" is not arithmetic at column 1");
  EXPECT_EQ(error_of("a = 1", Grammar::kCondition), "\"=\" is not a comparison (write \"==\") at column 3");
  EXPECT_EQ(error_of("a & 1"), "\"&\" is not part of an expression at column 3");
  EXPECT_EQ(error_of("a.b"), "\".\" is not part of an expression at column 2");
  EXPECT_EQ(error_of("1_"), "misplaced \"_\" in a number at column 1");
  EXPECT_EQ(error_of("1__0"), "misplaced \"_\" in a number at column 1");
  EXPECT_EQ(error_of("0x"), "a number has no digits at column 1");
  EXPECT_EQ(error_of("012"), "a number must not start with 0 at column 1");
  EXPECT_EQ(error_of("3j"), "a number runs into a letter or digit at column 1");
  EXPECT_EQ(error_of("1e"), "a number runs into a letter or digit at column 1");
  EXPECT_EQ(error_of("1e999"), "the constant is out of range at column 1");
  EXPECT_EQ(error_of("1 if 2 else 3", Grammar::kCondition), "unexpected \"if\" at column 3");
  EXPECT_EQ(error_of("in", Grammar::kCondition), "unexpected \"in\" at column 1");
}

TEST(Expression, DepthAndLengthAreBounded) {
  std::string deep(5000, '(');
  EXPECT_THAT(error_of(deep), HasSubstr("more than 4096"));
  EXPECT_THAT(error_of(deep.substr(0, 4000)), HasSubstr("nested too deep"));
  std::string tower = "1";
  for (int i = 0; i < 500; ++i) tower += " ** 1";
  EXPECT_THAT(error_of(tower), HasSubstr("nested too deep"));
  EXPECT_EQ(whole(std::string(4000, '-') + "1"), 1);
  std::string chain = "1";
  for (int i = 0; i < 2000; ++i) chain += "+1";
  EXPECT_EQ(whole(chain), 2001);
}

// Laws that hold for every pair of integers, over seeded random ones.
TEST(Expression, DivisionLawsHold) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 5000; ++i) {
    int shift_a = static_cast<int>(random() % 63) + 1;
    int shift_b = static_cast<int>(random() % 63) + 1;
    Values v = {{"a", static_cast<std::int64_t>(random()) >> shift_a},
                {"b", static_cast<std::int64_t>(random()) >> shift_b}};
    if (v["b"] == 0) v["b"] = 1;
    EXPECT_TRUE(truth("(a // b) * b + a % b == a", v)) << v["a"] << " " << v["b"];
    EXPECT_TRUE(truth("b > 0 and 0 <= a % b < b or b < 0 and b < a % b <= 0", v)) << v["a"] << " " << v["b"];
    EXPECT_EQ(truth("a < b", v), v["a"] < v["b"]);
    EXPECT_EQ(truth("a == b * 1.0", v),
              static_cast<long double>(v["a"]) == static_cast<long double>(static_cast<double>(v["b"])));
  }
}

// Fully bracketed text and text without redundant brackets parse to the same value.
TEST(Expression, BracketsThatRepeatPrecedenceChangeNothing) {
  std::mt19937_64 random(11);
  const std::vector<std::string> operators = {"+", "-", "*"};
  for (int i = 0; i < 2000; ++i) {
    std::string plain = "1";
    std::string term = "1";
    std::string sum;
    for (int k = 0; k < 8; ++k) {
      const std::string& op = operators[random() % operators.size()];
      std::string n = fmt::format("{}", random() % 9);
      plain += " " + op + " " + n;
      if (op == "*") {
        term = "(" + term + "*" + n + ")";
      } else {
        sum = sum.empty() ? term + op : "(" + sum + term + ")" + op;
        term = n;
      }
    }
    EXPECT_EQ(whole(plain), whole(sum + term)) << plain << " | " << sum << term;
  }
}

}  // namespace
}  // namespace solmark::problem
