// SPDX-License-Identifier: Apache-2.0
#include "apis/resource/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace csinative::apis {
namespace {

using Format = Quantity::Format;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Quantity Parsed(std::string_view text) {
  Result<Quantity> quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << text << ": " << quantity.status().message();
  return quantity.ok() ? *quantity : Quantity();
}

// The canonical text: of a value that was changed and changed back.
std::string Canonical(std::string_view text) {
  Quantity quantity = Parsed(text);
  quantity.Negate();
  quantity.Negate();
  return quantity.ToString();
}

struct TextRow {
  std::string_view in;
  std::string_view out;
};

class QuantityTextTest : public ::testing::TestWithParam<TextRow> {};

TEST_P(QuantityTextTest, ParsesAndPrints) {
  EXPECT_EQ(Parsed(GetParam().in).ToString(), GetParam().out);
}

// kube-client 19.1 (rule 5), 19.2; 24.14 Y25 to Y36.
INSTANTIATE_TEST_SUITE_P(
    Oracle, QuantityTextTest,
    ::testing::Values(
        // kept verbatim
        TextRow{"1.500", "1.500"}, TextRow{"1.001", "1.001"}, TextRow{"+5", "+5"},
        TextRow{"007", "007"}, TextRow{"12E6", "12E6"}, TextRow{"5Gi", "5Gi"}, TextRow{"9", "9"},
        TextRow{"1e3", "1e3"}, TextRow{"0", "0"}, TextRow{"10e6", "10e6"},
        // made canonical
        TextRow{"0.5", "500m"}, TextRow{"1.5", "1500m"}, TextRow{"1000", "1k"},
        TextRow{"1024Mi", "1Gi"}, TextRow{"0.500", "500m"}, TextRow{"1000M", "1G"},
        TextRow{".001Ki", "1024m"}, TextRow{".001e12", "1e9"}, TextRow{"0.5Mi", "512Ki"},
        TextRow{"1000E", "1"}, TextRow{"1.5Gi", "1536Mi"}, TextRow{"9Ei", "9223372036854775807"},
        TextRow{"100.035Ki", "102435840m"}, TextRow{"3.001n", "4n"},
        TextRow{"0.000000000001Ki", "2n"}, TextRow{"-1Ki", "-1Ki"}, TextRow{"1e-9", "1e-9"},
        TextRow{"1n", "1n"}, TextRow{"1.08", "1080m"}, TextRow{".000001Ki", "1024u"},
        TextRow{".000000001Ki", "1024n"}, TextRow{".000000000001Ki", "2n"}, TextRow{"00", "0"},
        TextRow{".", "0"}, TextRow{"-", "0"}, TextRow{"1.", "1."}, TextRow{"0Ki", "0"},
        TextRow{"0n", "0"}, TextRow{"-0.5", "-500m"},
        // binary powers
        TextRow{"8Ki", "8Ki"}, TextRow{"3Ei", "3Ei"}, TextRow{"4Pi", "4Pi"},
        TextRow{"100Ti", "100Ti"}, TextRow{"9223372036854775807Ki", "9223372036854775807"},
        TextRow{"-9223372036854775807Ki", "-9223372036854775807"},
        // decimal exponents
        TextRow{"1E-3", "1E-3"}, TextRow{"1e14", "100e12"}, TextRow{"1e13", "10e12"},
        TextRow{"0.5e0", "500e-3"}, TextRow{"0.5e-1", "50e-3"}, TextRow{"1.3E+6", "1300e3"},
        TextRow{"1.7E18", "1700e15"}, TextRow{"1000e-12", "1e-9"}, TextRow{"0.001e0", "1e-3"},
        // fractions
        TextRow{"100.035k", "100.035k"}, TextRow{"0.0005k", "500m"}, TextRow{"10.035M", "10.035M"},
        TextRow{"9.01", "9010m"}, TextRow{"7.123456M", "7.123456M"}, TextRow{"1.01E", "1010P"},
        TextRow{"1.G", "1.G"}, TextRow{".0001k", "100m"},
        // below nano: away from zero
        TextRow{"1.1E-9", "2e-9"}, TextRow{"0.0000000001", "1n"}, TextRow{"0.5e-9", "1e-9"},
        TextRow{"0.9n", "1n"}, TextRow{"0.00000012345", "124n"}, TextRow{"-0.9n", "-1n"},
        // beyond 64 bits, decimal: not capped
        TextRow{"9223372036854775808", "9223372036854775808"},
        TextRow{"100000000000000000000000", "100"}, TextRow{"1.0000000000000000000", "1"}));

TEST(QuantityTest, RejectsWhatIsNoQuantity) {
  // 24.14 Y34.
  const std::string_view bad[] = {"",       "1.1.M",
                                  "1+1.0M", "0.1mi",
                                  "0.1am",  "aoeu",
                                  ".5i",    "1i",
                                  "-3.01i", "-3.01e-",
                                  " 1",     "1 ",
                                  "1K",     "1mi",
                                  "1ki",    "1e5e5",
                                  "1e+-5",  "1e5.",
                                  "e",      "i",
                                  "0x10",   "1_000",
                                  "--1",    "1e99999999999999999999",
                                  "\xff",   std::string_view("1\0", 2)};
  for (std::string_view text : bad) {
    EXPECT_FALSE(Quantity::Parse(text).ok()) << text;
  }
  EXPECT_EQ(Quantity::Parse("").status().message(),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(Quantity::Parse("1i").status().message(), "unable to parse quantity's suffix");
  EXPECT_EQ(Quantity::Parse(".e-20").status().message(),
            "unable to parse numeric part of quantity");
}

TEST(QuantityTest, RefusesExponentsThatWouldTakeMinutes) {
  EXPECT_FALSE(Quantity::Parse("1e10001").ok());
  EXPECT_FALSE(Quantity::Parse("1e-10001").ok());
  EXPECT_FALSE(Quantity::Parse("1e4294967296").ok());
  EXPECT_EQ(Parsed("1e9999").Compare(Parsed("1e9998")), 1);
}

TEST(QuantityTest, SurvivesLongInput) {
  std::string digits(100'000, '9');
  EXPECT_EQ(Parsed(digits + "Ki").ToString(), "9223372036854775807");
  EXPECT_EQ(Parsed("0." + digits).ToString(), "1");
  EXPECT_FALSE(Quantity::Parse(digits + "x").ok());
}

TEST(QuantityTest, CanonicalTextForgetsHowTheValueWasWritten) {
  // 24.14 Y35: value <- alternate.
  const TextRow rows[] = {
      {"1024Mi", "1Gi"}, {"307200Ki", "300Mi"},    {"1025024Mi", "1001Gi"}, {"1024Gi", "1Ti"},
      {"5000m", "5"},    {"0.5", "500m"},          {"1000M", "1G"},         {"0.001T", "1G"},
      {"1000u", "1m"},   {"1080000000n", "1080m"}, {".001e12", "1e9"},      {"+5", "5"},
      {"007", "7"},      {"1.500", "1500m"},       {"12E6", "12e6"}};
  for (const TextRow& row : rows) EXPECT_EQ(Canonical(row.in), row.out) << row.in;
}

TEST(QuantityTest, MadeFromIntegersPrintsCanonically) {
  // 24.14 Y37 to Y39.
  EXPECT_EQ(Quantity(1, Format::kDecimalSi).ToString(), "1");
  EXPECT_EQ(Quantity(1000, Format::kDecimalSi).ToString(), "1k");
  EXPECT_EQ(Quantity(1234000, Format::kDecimalSi).ToString(), "1234k");
  EXPECT_EQ(Quantity(1024, Format::kBinarySi).ToString(), "1Ki");
  EXPECT_EQ(Quantity(1000000, Format::kDecimalExponent).ToString(), "1e6");
  EXPECT_EQ(Quantity(1048576, Format::kBinarySi).ToString(), "1Mi");
  EXPECT_EQ(Quantity::FromScaled(1, -3, Format::kDecimalSi).ToString(), "1m");
  EXPECT_EQ(Quantity::FromScaled(1000, -3, Format::kDecimalSi).ToString(), "1");
  EXPECT_EQ(Quantity::FromScaled(1024, -3, Format::kBinarySi).ToString(), "1024m");
  EXPECT_EQ(Quantity::FromScaled(1000000, -3, Format::kDecimalExponent).ToString(), "1e3");
  EXPECT_EQ(Quantity::FromScaled(1048576, -3, Format::kBinarySi).ToString(), "1048576m");
  EXPECT_EQ(Quantity::FromScaled(1234567, 6, Format::kDecimalSi).ToString(), "1234567M");
  EXPECT_EQ(Quantity::FromScaled(80, -3, Format::kDecimalExponent).ToString(), "80e-3");
  // provisioner 10.2, capacity.
  EXPECT_EQ(Quantity(1000).ToString(), "1k");
  EXPECT_EQ(Quantity(1025).ToString(), "1025");
  EXPECT_EQ(Quantity(int64_t{5} << 30).ToString(), "5Gi");
  EXPECT_EQ(Quantity(int64_t{5632} << 20).ToString(), "5632Mi");
  EXPECT_EQ(Quantity(1500000000).ToString(), "1500000000");
  EXPECT_EQ(Quantity(kMin).ToString(), "-9223372036854775808");
}

TEST(QuantityTest, CompareIgnoresFormat) {
  // 24.14 Y41.
  EXPECT_EQ(Parsed("1024Mi"), Parsed("1Gi"));
  EXPECT_EQ(Parsed("1k"), Parsed("1000"));
  EXPECT_EQ(Parsed("100m").Compare(Parsed("50m")), 1);
  EXPECT_EQ(Parsed("10000T").Compare(Parsed("100Gi")), 1);
  auto scaled = [](int64_t v, int32_t s) { return Quantity::FromScaled(v, s, Format::kDecimalSi); };
  EXPECT_EQ(scaled(kMax, -16).Compare(scaled(1, 3)), -1);
  EXPECT_EQ(scaled(kMin, -18).Compare(scaled(-1, 0)), -1);
  EXPECT_EQ(scaled(kMin, -19).Compare(scaled(-1, 0)), 1);
  EXPECT_LT(Parsed("1Gi"), Parsed("1073741825"));
  EXPECT_EQ(Parsed("9223372036854775808").Compare(Quantity(kMax)), 1);
}

TEST(QuantityTest, AddingToZeroTakesTheOthersFormat) {
  // 24.14 Y42, Y43.
  Quantity a;
  a.Add(Parsed("1Gi"));
  EXPECT_EQ(a.ToString(), "1Gi");
  Quantity b = Parsed("0Ki");
  b.Add(Parsed("100m"));
  EXPECT_EQ(b.ToString(), "100m");
  Quantity c;
  c.Subtract(Parsed("1Gi"));
  EXPECT_EQ(c.ToString(), "-1Gi");
  Quantity d(10, Format::kDecimalSi);
  d.Add(Quantity(1, Format::kBinarySi));
  EXPECT_EQ(d.format(), Format::kDecimalSi);
  EXPECT_EQ(d.Value(), 11);
  Quantity e(10, Format::kBinarySi);
  e.Subtract(Quantity(1, Format::kDecimalSi));
  EXPECT_EQ(e.format(), Format::kBinarySi);
  EXPECT_EQ(e.Value(), 9);
}

TEST(QuantityTest, AddIsExactBeyond64Bits) {
  Quantity sum(kMax, Format::kDecimalSi);
  sum.Add(Quantity(kMax, Format::kDecimalSi));
  EXPECT_EQ(sum.ToString(), "18446744073709551614");
  sum.Add(sum);
  EXPECT_EQ(sum.ToString(), "36893488147419103228");
  sum.Subtract(Parsed("36893488147419103227"));
  EXPECT_EQ(sum.ToString(), "1");
  Quantity mixed = Parsed("1E");
  mixed.Add(Parsed("1n"));
  EXPECT_EQ(mixed.ToString(), "1000000000000000000000000001n");
}

TEST(QuantityTest, MultiplySaysWhetherTheResultFits) {
  // 24.14 Y44.
  struct Row {
    int64_t value;
    int64_t factor;
    bool fits;
    std::string_view result;
  };
  const Row rows[] = {{10, 10, true, "100"},
                      {-50, -50, true, "2500"},
                      {kMax, 1, true, "9223372036854775807"},
                      {kMax, 2, false, "18446744073709551614"},
                      {kMax, -1, true, "-9223372036854775807"},
                      {kMin, -1, false, "9223372036854775808"},
                      {7, 0, true, "0"}};
  for (const Row& row : rows) {
    Quantity quantity(row.value, Format::kDecimalSi);
    EXPECT_EQ(quantity.Multiply(row.factor), row.fits) << row.value << " * " << row.factor;
    EXPECT_EQ(quantity.ToString(), row.result);
  }
}

TEST(QuantityTest, RoundUpGoesAwayFromZero) {
  // 24.14 Y40.
  struct Row {
    int32_t scale;
    bool exact;
    std::string_view text;
  };
  const Row rows[] = {{-3, true, "9010m"}, {-2, true, "9010m"}, {-1, false, "9100m"},
                      {0, false, "10"},    {1, false, "10"},    {2, false, "100"}};
  for (const Row& row : rows) {
    for (std::string sign : {"", "-"}) {
      Quantity quantity = Parsed(sign + "9.01");
      EXPECT_EQ(quantity.RoundUp(row.scale), row.exact) << row.scale;
      EXPECT_EQ(quantity.ToString(), sign + std::string(row.text)) << row.scale;
    }
  }
}

TEST(QuantityTest, ValuesRoundAwayFromZero) {
  // 24.14 Y45.
  EXPECT_EQ(Parsed("1n").Value(), 1);
  EXPECT_EQ(Parsed("1m").ScaledValue(Quantity::kNano), 1'000'000);
  EXPECT_EQ(Quantity::FromScaled(1, 2, Format::kDecimalSi).ScaledValue(-2), 10'000);
  EXPECT_EQ(Parsed("1.5").Value(), 2);
  EXPECT_EQ(Parsed("-1.5").Value(), -2);
  EXPECT_EQ(Parsed("1500m").MilliValue(), 1500);
  EXPECT_EQ(Parsed("10Gi").Value(), int64_t{10} << 30);
  EXPECT_EQ(Parsed("100.035Ki").Value(), 102436);
}

TEST(QuantityTest, ValuesThatDoNotFitAreZeroOrWrap) {
  EXPECT_EQ(Parsed("10E").Value(), 0);
  EXPECT_EQ(Quantity::FromScaled(kMax, 4, Format::kDecimalSi).Value(), 0);
  // Upstream: factors that it multiplies with in one step wrap around.
  EXPECT_EQ(Quantity::FromScaled(kMax, 1, Format::kDecimalSi).Value(), -10);
  EXPECT_EQ(Quantity::FromScaled(5'000'000'000'000'000'000, 3, Format::kDecimalSi).Value(),
            static_cast<int64_t>(5'000'000'000'000'000'000u * 1000u));
  EXPECT_EQ(Parsed("9223372036854775808").Value(), kMin);
  // Upstream: in decimal form a negative value is cut, then increased.
  EXPECT_EQ(Parsed("-0.0000000001Ki").MilliValue(), 1);
}

TEST(QuantityTest, AsInt64OnlyForSmallIntegers) {
  EXPECT_EQ(Parsed("1Gi").AsInt64(), int64_t{1} << 30);
  EXPECT_EQ(Parsed("5k").AsInt64(), 5000);
  EXPECT_EQ(Parsed("5000m").AsInt64(), std::nullopt);
  EXPECT_EQ(Parsed("9223372036854775808").AsInt64(), std::nullopt);
}

TEST(QuantityTest, NegateForgetsTheText) {
  Quantity quantity = Parsed("9.01");
  quantity.Negate();
  EXPECT_EQ(quantity.ToString(), "-9010m");  // 24.14 Y46
  Quantity smallest(kMin, Format::kDecimalSi);
  smallest.Negate();
  EXPECT_EQ(smallest.ToString(), "9223372036854775808");
}

TEST(QuantityTest, ProtobufHoldsTheText) {
  EXPECT_EQ(Parsed("1Gi").ToProto().SerializeAsString(),
            "\x0a\x03"
            "1Gi");  // 24.6 F10
  resource::Quantity unset;
  EXPECT_EQ(Quantity::FromProto(unset)->ToString(), "0");
  unset.set_string("");
  EXPECT_FALSE(Quantity::FromProto(unset).ok());
}

}  // namespace
}  // namespace csinative::apis
