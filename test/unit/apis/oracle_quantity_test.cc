// SPDX-License-Identifier: Apache-2.0
//
// kube-client 24.14, Y, and 24.6 F10: quantities. Each value is a mantissa and a power of ten.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "apis/json/from_json.h"
#include "apis/k8s.h"
#include "apis/namespaces.h"
#include "apis/resource/quantity.h"
#include "test/support/oracle.h"

namespace csinative::apis {
namespace {

using Format = Quantity::Format;

constexpr Format kDecimal = Format::kDecimalSi;
constexpr Format kBinary = Format::kBinarySi;
constexpr Format kExponent = Format::kDecimalExponent;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct ValueEntry {
  const char* row;
  const char* text;
  int64_t value;
  int32_t scale;
  Format format;
};

std::vector<ValueEntry> Values() {
  std::vector<ValueEntry> entries;
  const auto add = [&](const char* row, Format format, std::vector<ValueEntry> values) {
    for (const ValueEntry& v : values) {
      entries.push_back({row, v.text, v.value, v.scale, format});
    }
  };
  const auto at = [](const char* text, int64_t value, int32_t scale = 0) {
    return ValueEntry{"", text, value, scale, kDecimal};
  };
  add("kube-client/24.14/7", kDecimal,
      {at("0n", 0), at("0u", 0), at("0m", 0), at("0k", 0), at("0M", 0), at("0G", 0), at("0T", 0)});
  add("kube-client/24.14/7", kBinary, {at("0Ki", 0), at("0Mi", 0), at("0Gi", 0), at("0Ti", 0)});
  add("kube-client/24.14/8", kBinary,
      {at("1Ki", int64_t{1} << 10), at("8Ki", int64_t{8} << 10), at("7Mi", int64_t{7} << 20),
       at("6Gi", int64_t{6} << 30), at("5Ti", int64_t{5} << 40), at("4Pi", int64_t{4} << 50),
       at("3Ei", int64_t{3} << 60), at("10Ti", int64_t{10} << 40),
       at("100Ti", int64_t{100} << 40)});
  add("kube-client/24.14/9", kDecimal,
      {at("5n", 5, -9), at("4u", 4, -6), at("3m", 3, -3), at("9", 9), at("8k", 8, 3),
       at("50k", 50, 3), at("7M", 7, 6), at("6G", 6, 9), at("5T", 5, 12), at("40T", 40, 12),
       at("300T", 300, 12), at("2P", 2, 15), at("1E", 1, 18), at("12E", 12, 18)});
  add("kube-client/24.14/10", kExponent,
      {at("1E-3", 1, -3), at("1e3", 1, 3), at("1E6", 1, 6), at("1e9", 1, 9), at("1E12", 1, 12),
       at("1e15", 1, 15), at("1E18", 1, 18), at("1e14", 1, 14), at("1e13", 1, 13),
       at("0.5e0", 5, -1), at("0.5e-1", 5, -2), at("1.2e3", 12, 2), at("1.3E+6", 13, 5),
       at("1.7E18", 17, 17)});
  add("kube-client/24.14/11", kDecimal,
      {at("100.035k", 100035), at("0.001", 1, -3), at("0.0005k", 5, -1), at("0.00050k", 5, -1),
       at("10.035M", 10035, 3), at("9.01", 901, -2), at("7.123456M", 7123456),
       at("6.987654321G", 6987654321), at("1.01E", 101, 16), at(".001", 1, -3), at(".0001k", 1, -1),
       at("1.", 1), at("1.G", 1, 9)});
  add("kube-client/24.14/12", kDecimal,
      {at("3.001n", 4, -9), at("0.0000000001", 1, -9), at("0.0000000005", 1, -9), at("0.9n", 1, -9),
       at("0.00000012345", 124, -9)});
  add("kube-client/24.14/12", kExponent, {at("1.1E-9", 2, -9), at("0.5e-9", 1, -9)});
  add("kube-client/24.14/13", kBinary, {at("9Ei", kMax), at("9223372036854775807Ki", kMax)});
  add("kube-client/24.14/14", kBinary,
      {at("100.035Ki", 10243584, -2), at("0.5Mi", 524288), at("0.05Gi", 536870912, -1),
       at("0.025Ti", 274877906944, -1)});
  return entries;
}

TEST(QuantityOracle, Values) {
  for (const ValueEntry& entry : Values()) {
    const oracle::Row row(entry.row);
    const oracle::Row signs("kube-client/24.14/15");
    for (const char* sign : {"", "+", "-"}) {
      const std::string text = std::string(sign) + entry.text;
      const Result<Quantity> parsed = Quantity::Parse(text);
      ASSERT_TRUE(parsed.ok()) << text;
      const int64_t value = *sign == '-' ? -entry.value : entry.value;
      // The capped value is even smaller by one below zero.
      EXPECT_EQ(*parsed, Quantity::FromScaled(value, entry.scale, kDecimal)) << text;
      EXPECT_EQ(parsed->format(), entry.format) << text;
    }
  }
}

TEST(QuantityOracle, WhatIsNone) {
  for (const char* text : {"", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", ".5i", "1i", "-3.01i",
                           "-3.01e-", " 1", "1 "}) {
    const oracle::Row row("kube-client/24.14/16");
    EXPECT_FALSE(Quantity::Parse(text).ok()) << text;
  }
  struct Json {
    const char* text;
    int64_t value;
  };
  const Json kJson[] = {{"\" 1\"", 1}, {"\"1 \"", 1}, {"10", 10}, {"\" -1\"", -1}};
  for (const Json& entry : kJson) {
    const oracle::Row row("kube-client/24.14/16");
    core::PersistentVolume volume;
    const Status status = FromJsonString(
        std::string(R"({"spec":{"capacity":{"storage":)") + entry.text + "}}}", &volume);
    ASSERT_TRUE(status.ok()) << entry.text << status.message();
    EXPECT_EQ(Quantity::FromProto(volume.spec().capacity(0).value())->Value(), entry.value);
  }
}

struct TextEntry {
  const char* row;
  Quantity quantity;
  const char* text;
};

// The text of a value that has forgotten how it was written.
std::string Canonical(Quantity quantity) {
  quantity.Negate();
  quantity.Negate();
  return quantity.ToString();
}

TEST(QuantityOracle, Texts) {
  struct Pair {
    const char* canonical;
    const char* alternate;
  };
  const Pair kPairs[] = {{"1Gi", "1024Mi"},   {"300Mi", "307200Ki"},    {"1001Gi", "1025024Mi"},
                         {"1Ti", "1024Gi"},   {"5", "5000m"},           {"500m", "0.5"},
                         {"1G", "1000M"},     {"1G", "0.001T"},         {"1m", "1000u"},
                         {"1080m", "1.08"},   {"1080m", "1080000000n"}, {"1e9", ".001e12"},
                         {"1e-3", "0.001e0"}, {"1e-9", "1000e-12"},     {"0", "00"}};
  for (const Pair& entry : kPairs) {
    const oracle::Row row("kube-client/24.14/17");
    EXPECT_EQ(Quantity::Parse(entry.canonical)->ToString(), entry.canonical);
    EXPECT_EQ(Canonical(*Quantity::Parse(entry.canonical)), entry.canonical);
    EXPECT_EQ(Canonical(*Quantity::Parse(entry.alternate)), entry.canonical);
  }
  const auto parsed = [](const char* text) { return *Quantity::Parse(text); };
  const auto scaled = [](int64_t value, int32_t scale, Format format) {
    return Quantity::FromScaled(value, scale, format);
  };
  const TextEntry kEntries[] = {
      {"kube-client/24.14/18", parsed(".000001Ki"), "1024u"},
      {"kube-client/24.14/18", parsed(".000000001Ki"), "1024n"},
      {"kube-client/24.14/18", parsed(".000000000001Ki"), "2n"},
      {"kube-client/24.14/19", scaled(1234567, 6, kDecimal), "1234567M"},
      {"kube-client/24.14/19", scaled(1234567, -3, kBinary), "1234567m"},
      {"kube-client/24.14/19", scaled(80, -3, kExponent), "80e-3"},
      {"kube-client/24.14/19", scaled(1, 9, kExponent), "1e9"},
      // A format nobody knows prints as the exponent's.
      {"kube-client/24.14/20", scaled(1, -3, kDecimal), "1m"},
      {"kube-client/24.14/20", scaled(1000, -3, kDecimal), "1"},
      {"kube-client/24.14/20", scaled(1234000, -3, kDecimal), "1234"},
      {"kube-client/24.14/20", scaled(1024, -3, kBinary), "1024m"},
      {"kube-client/24.14/20", scaled(1000000, -3, kExponent), "1e3"},
      {"kube-client/24.14/20", scaled(1048576, -3, kBinary), "1048576m"},
      {"kube-client/24.14/21", Quantity(1, kDecimal), "1"},
      {"kube-client/24.14/21", Quantity(1000, kDecimal), "1k"},
      {"kube-client/24.14/21", Quantity(1234000, kDecimal), "1234k"},
      {"kube-client/24.14/21", Quantity(1024, kBinary), "1Ki"},
      {"kube-client/24.14/21", Quantity(1000000, kExponent), "1e6"},
      {"kube-client/24.14/21", Quantity(1048576, kBinary), "1Mi"},
  };
  for (const TextEntry& entry : kEntries) {
    const oracle::Row row(entry.row);
    EXPECT_EQ(entry.quantity.ToString(), entry.text);
  }
}

TEST(QuantityOracle, RoundingAndComparing) {
  struct Rounding {
    int32_t scale;
    const char* text;
    bool exact;
  };
  const Rounding kRoundings[] = {{-3, "9.01", true}, {-2, "9.01", true}, {-1, "9.1", false},
                                 {0, "10", false},   {1, "10", false},   {2, "100", false}};
  for (const Rounding& entry : kRoundings) {
    const oracle::Row row("kube-client/24.14/22");
    for (const char* sign : {"", "-"}) {
      Quantity quantity = *Quantity::Parse(std::string(sign) + "9.01");
      EXPECT_EQ(quantity.RoundUp(entry.scale), entry.exact) << entry.scale;
      EXPECT_EQ(quantity, *Quantity::Parse(std::string(sign) + entry.text)) << entry.scale;
    }
  }
  const auto parsed = [](const char* text) { return *Quantity::Parse(text); };
  const auto scaled = [](int64_t value, int32_t scale) {
    return Quantity::FromScaled(value, scale, kDecimal);
  };
  struct Comparison {
    Quantity a;
    Quantity b;
    int result;
  };
  const Comparison kComparisons[] = {{parsed("100m"), parsed("50m"), 1},
                                     {parsed("10000T"), parsed("100Gi"), 1},
                                     {scaled(kMax, -16), scaled(1, 3), -1},
                                     {scaled(kMin, -18), scaled(-1, 0), -1},
                                     {scaled(kMin, -19), scaled(-1, 0), 1}};
  for (const Comparison& entry : kComparisons) {
    const oracle::Row row("kube-client/24.14/23");
    EXPECT_EQ(entry.a.Compare(entry.b), entry.result);
    EXPECT_EQ(entry.b.Compare(entry.a), -entry.result);
  }
}

TEST(QuantityOracle, Arithmetic) {
  const auto parsed = [](const char* text) { return *Quantity::Parse(text); };
  struct Sum {
    const char* row;
    Quantity a;
    Quantity b;
    bool subtract;
    const char* text;
    Format format;
  };
  const Sum kSums[] = {
      {"kube-client/24.14/24", Quantity(), parsed("1Gi"), false, "1Gi", kBinary},
      {"kube-client/24.14/24", Quantity(), parsed("100m"), false, "100m", kDecimal},
      {"kube-client/24.14/24", parsed("7Mi"), Quantity(), false, "7Mi", kBinary},
      {"kube-client/24.14/24", Quantity(), parsed("1Gi"), true, "-1Gi", kBinary},
      {"kube-client/24.14/25", Quantity(10, kDecimal), Quantity(1, kBinary), false, "11", kDecimal},
      {"kube-client/24.14/25", Quantity(10, kBinary), Quantity(1, kDecimal), true, "9", kBinary}};
  for (const Sum& entry : kSums) {
    const oracle::Row row(entry.row);
    Quantity sum = entry.a;
    entry.subtract ? sum.Subtract(entry.b) : sum.Add(entry.b);
    EXPECT_EQ(sum.ToString(), entry.text);
    EXPECT_EQ(sum.format(), entry.format);
  }
  struct Product {
    int64_t value;
    int64_t factor;
    bool fits;
    const char* text;
  };
  const Product kProducts[] = {{10, 10, true, "100"},
                               {-50, -50, true, "2500"},
                               {kMax, 1, true, "9223372036854775807"},
                               {kMax, 2, false, "18446744073709551614"},
                               {kMax, -1, true, "-9223372036854775807"},
                               {kMin, -1, false, "9223372036854775808"}};
  for (const Product& entry : kProducts) {
    const oracle::Row row("kube-client/24.14/26");
    Quantity product(entry.value, kDecimal);
    EXPECT_EQ(product.Multiply(entry.factor), entry.fits);
    EXPECT_EQ(product, *Quantity::Parse(entry.text));
  }
  struct Scaling {
    Quantity quantity;
    int32_t scale;
    int64_t value;
  };
  const Scaling kScalings[] = {{Quantity::FromScaled(1, Quantity::kNano, kDecimal), 0, 1},
                               {Quantity::FromScaled(1, Quantity::kNano, kDecimal), -3, 1},
                               {Quantity::FromScaled(1, Quantity::kNano, kDecimal), 6, 1},
                               {Quantity::FromScaled(1, Quantity::kMilli, kDecimal), -9, 1000000},
                               {Quantity::FromScaled(1, 2, kDecimal), -2, 10000}};
  for (const Scaling& entry : kScalings) {
    const oracle::Row row("kube-client/24.14/27");
    EXPECT_EQ(entry.quantity.ScaledValue(entry.scale), entry.value);
  }
  {
    const oracle::Row row("kube-client/24.14/28");
    Quantity quantity = parsed("9.01");
    quantity.Negate();
    EXPECT_EQ(quantity.ToString(), "-9010m");
  }
  {
    const oracle::Row row("kube-client/24.6/11");
    const std::string bytes = parsed("1Gi").ToProto().SerializeAsString();
    EXPECT_EQ(bytes, "\x0a\x03\x31\x47\x69");
    resource::Quantity message;
    ASSERT_TRUE(message.ParseFromString(bytes));
    EXPECT_EQ(Quantity::FromProto(message)->ToString(), "1Gi");
  }
}

}  // namespace
}  // namespace csinative::apis
