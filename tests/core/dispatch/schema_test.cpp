// The grammar of schemas.
#include <gtest/gtest.h>

#include "dispatch/op.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

TEST(Schema, ReadsArgumentsDefaultsAndResults) {
  Schema schema = parse_schema(
      "f(Tensor x, Tensor? w=none, int[] stride=[1, 2], float eps=1e-5, bool on=true, str mode=\"a "
      "b\", "
      "Tensor?[] ts=none, Tensor![] ps) -> Tensor y, Tensor @3");
  EXPECT_EQ(schema.name, "f");
  EXPECT_EQ(schema.revision, 3u);
  ASSERT_EQ(schema.args.size(), 8u);
  EXPECT_TRUE(schema.args[1].optional);
  EXPECT_EQ(schema.args[2].default_value.count, 2u);
  EXPECT_EQ(schema.args[2].default_value.as.ints[1], 2);
  EXPECT_DOUBLE_EQ(schema.args[3].default_value.as.f, 1e-5);
  EXPECT_EQ(schema.args[4].default_value.as.i, 1);
  EXPECT_EQ(
      std::string_view(schema.args[5].default_value.as.str, schema.args[5].default_value.count),
      "a b");
  EXPECT_TRUE(schema.args[6].optional_entries && schema.args[6].list);
  EXPECT_TRUE(schema.args[7].written && schema.args[7].list && !schema.args[7].has_default);
  EXPECT_EQ(schema.results, (std::vector<std::string>{"y", ""}));
}

TEST(Schema, ReadsAnOpWithoutResults) {
  EXPECT_TRUE(parse_schema("step(Tensor! x) -> () @1").results.empty());
  EXPECT_TRUE(parse_schema("none() -> Tensor").args.empty());
}

TEST(Schema, ErrorsPointAtThePlace) {
  const char* bad[] = {"",
                       "f",
                       "f(",
                       "f(Tensor)",
                       "f(Tensor x) ->",
                       "f(Tenso x) -> Tensor",
                       "f() -> int",
                       "f(int x=a) -> Tensor",
                       "f(str s=\"a) -> Tensor",
                       "f() -> Tensor @",
                       "f() -> Tensor @1 x",
                       "f(Tensor x,) -> Tensor",
                       "f(int[ x) -> Tensor",
                       "f(bool b=1) -> Tensor"};
  for (const char* text : bad) {
    try {
      parse_schema(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), TN_INVALID_ARGUMENT);
      EXPECT_NE(std::string(error.what()).find("expected at position"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Schema, EveryOpOfTheTableHasAParsedSchemaAndARule) {
  for (const tn_op* op : all_ops()) {
    if (op->foreign != nullptr) continue;
    EXPECT_EQ(op->schema.revision, 1u) << op->name();
    EXPECT_EQ(parse_schema(op->schema.text).name, op->name());
    if (op->kind == OpKind::Kernel) {
      EXPECT_NE(op->rule, nullptr) << op->name();
    }
    if (op->kind == OpKind::Composite || op->through) {
      EXPECT_NE(op->decompose, nullptr) << op->name();
    }
  }
}

TEST(Names, NearestNameSuggestsTyposOnly) {
  EXPECT_EQ(nearest_name("sofmax", {"softmax", "sum", "add"}), "softmax");
  EXPECT_EQ(nearest_name("qqqqqq", {"softmax", "sum"}), "");
}

}  // namespace
}  // namespace tenon::core
