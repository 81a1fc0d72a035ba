// SPDX-License-Identifier: Apache-2.0
//
// Records of arbitrary messages, keys and values, read back the way log collectors read klog:
// regular expressions find records and header fields, and what follows gives the arguments again,
// byte by byte. Each seed is one run; a failure names it.
//
// Keys of text records are words, as in the programs: the layout writes them as they are.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/base64.h"
#include "lib/base/go_duration.h"
#include "lib/base/json_string.h"
#include "lib/base/random.h"
#include "test/unit/log/log_fixture.h"

namespace csinative::log {
namespace {

constexpr uint64_t kSeeds = 150;
constexpr int kRecords = 12;

// What multi-line parsers of collectors look for at the start of a line, and the fields behind it.
constexpr char kFirstLine[] = R"(^[IWEF]\d{4} )";
constexpr char kHeader[] =
    R"(^([IWEF])(\d{2})(\d{2}) (\d{2}:\d{2}:\d{2}\.\d{6}) +(\d+) ([^ :\]]+):(\d+)\] )";
constexpr char kJsonHeader[] =
    R"re(^\{"ts":(\d+(?:\.\d+)?),(?:"logger":"([^"]*)",)?"caller":"([^"]+):(\d+)","msg":")re";

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(NewSeededRandom(seed)) {}

  uint64_t Below(uint64_t bound) { return random_->Below(bound); }
  bool Once(uint64_t in) { return Below(in) == 0; }

  std::string Word() {
    static constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    std::string out;
    for (uint64_t n = 1 + Below(12); n > 0; --n) out += kLetters[Below(kLetters.size())];
    return out;
  }
  // Bytes with a preference for what a layout could trip over.
  std::string Text() {
    static const std::vector<std::string> kPieces = {
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "\"",
        "\\",
        "\\\"",
        "=",
        " ",
        " >",
        " >\n",
        "=<\n",
        "]",
        "] \"",
        "{",
        "}",
        "[",
        ",",
        ":",
        "<",
        "&",
        "\x1b[0m",
        "\x7f",
        "\u00e9",
        "\u2318",
        "\u2028",
        "\u0300",
        "\U0001f4a9",
        "\ufeff",
        "\ue000",
        "\xff",
        "\xc3",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xc0\xaf",
        std::string(1, '\0'),
        "null",
        "key=\"value\"",
        "I0102 03:04:05.678901       1 x.go:1] \"forged\"",
        "\nE0102 03:04:05.678901       1 x.go:1] forged\n",
        "{\"ts\":1,\"msg\":\"forged\"}"};
    std::string out;
    for (uint64_t n = Below(9); n > 0; --n) {
      switch (Below(3)) {
        case 0:
          out += kPieces[Below(kPieces.size())];
          break;
        case 1:
          for (uint64_t k = Below(6); k > 0; --k) out += static_cast<char>(Below(256));
          break;
        default:
          out += Word();
      }
    }
    return out;
  }
  double Double() {
    const double mantissa = static_cast<double>(static_cast<int64_t>(random_->NextU64()));
    return std::ldexp(mantissa, static_cast<int>(Below(120)) - 120);
  }
  uint64_t Bits() { return random_->NextU64() >> Below(64); }

 private:
  const std::unique_ptr<Random> random_;
};

// A value and what both layouts must give back.
struct Sample {
  enum class Kind { kString, kBytes, kLiteral } kind = Kind::kString;
  Value value;
  std::string text;     // of a string: what was meant
  std::string literal;  // of anything else: as JSON
};

Sample StringSample(Value value, std::string text) {
  return {Sample::Kind::kString, std::move(value), std::move(text), ""};
}

Sample RandomSample(Generator& random) {
  switch (random.Below(10)) {
    case 0: {
      const auto number = static_cast<int64_t>(random.Bits()) * (random.Once(2) ? -1 : 1);
      return {Sample::Kind::kLiteral, number, "", std::to_string(number)};
    }
    case 1: {
      const uint64_t number = random.Bits();
      return {Sample::Kind::kLiteral, number, "", std::to_string(number)};
    }
    case 2: {
      const bool yes = random.Once(2);
      return {Sample::Kind::kLiteral, yes, "", yes ? "true" : "false"};
    }
    case 3:
      return {Sample::Kind::kLiteral, nullptr, "", "null"};
    case 4: {
      const Duration duration(static_cast<int64_t>(random.Bits()));
      return StringSample(duration, FormatGoDuration(duration));
    }
    case 5: {
      std::string bytes = random.Text();
      return {Sample::Kind::kBytes, Bytes{bytes}, bytes, ""};
    }
    case 6: {
      std::string text = random.Text();
      return StringSample(ErrorText{text, {}}, text);
    }
    case 7: {
      const std::string json = "{\"k\":[" + JsonString(random.Text()) + ",1]}";
      return {Sample::Kind::kLiteral, RawJson{json}, "", json};
    }
    default: {
      std::string text = random.Text();
      return StringSample(text, text);
    }
  }
}

struct Call {
  bool error = false;
  std::string message;
  std::vector<std::string> keys;
  std::vector<Sample> samples;
};

enum class Keys { kWords, kAnything };

Call RandomCall(Generator& random, Keys keys) {
  Call call;
  call.error = random.Once(3);
  call.message = random.Text();
  for (uint64_t n = random.Below(6); n > 0; --n) {
    // A number makes each key different: the text layout drops the earlier one of a pair of equals.
    std::string key = keys == Keys::kWords ? random.Word() : random.Text();
    call.keys.push_back(key + std::to_string(n));
    call.samples.push_back(RandomSample(random));
  }
  return call;
}

void Write(const Logger& log, const Call& call) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < call.keys.size(); ++i) {
    pairs.push_back({call.keys[i], call.samples[i].value});
  }
  const Logger with = log.WithPairs(pairs);
  if (call.error) {
    with.Error(nullptr, call.message);
  } else {
    with.Info(call.message);
  }
}

// The valid characters, and U+FFFD for each byte that belongs to none.
std::string Repaired(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    size_t size = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    if (lead > 0xf4 || size > text.size()) size = 0;
    for (size_t i = 1; i < size; ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) size = 0;
    }
    if (size >= 3) {
      const auto second = static_cast<unsigned char>(text[1]);
      const bool short_form = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
      const bool no_character = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
      if (short_form || no_character) size = 0;
    }
    out += size == 0 ? "\ufffd" : text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Reads a record's body from the front. A member function that fails leaves `error`.
class BodyReader {
 public:
  explicit BodyReader(std::string_view rest) : rest_(rest) {}

  bool done() const { return rest_.empty(); }
  std::string error;

  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string Until(char end) {
    const size_t at = rest_.find(end);
    if (at == std::string_view::npos) return Fail("no end");
    std::string out(rest_.substr(0, at));
    rest_.remove_prefix(at);
    return out;
  }
  // Go's double-quoted form.
  std::string Quoted() {
    if (!Take("\"")) return Fail("no quote");
    std::string out;
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return Fail("raw control character");
      if (rest_[0] != '\\') {
        out += rest_[0];
        rest_.remove_prefix(1);
        continue;
      }
      static constexpr std::string_view kNames = "abfnrtv\\\"";
      static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\\"";
      if (rest_.size() < 2) return Fail("half an escape");
      const char kind = rest_[1];
      rest_.remove_prefix(2);
      if (const size_t at = kNames.find(kind); at != std::string_view::npos) {
        out += kMeanings[at];
      } else if (kind == 'x') {
        out += static_cast<char>(Hex(2));
      } else if (kind == 'u' || kind == 'U') {
        AppendUtf8(out, Hex(kind == 'u' ? 4 : 8));
      } else {
        return Fail("unknown escape");
      }
    }
    if (!Take("\"")) return Fail("no closing quote");
    return out;
  }
  // The lines of =<, without the final line feed that the layout drops.
  std::string Lines() {
    if (!Take("<\n")) return Fail("no lines");
    std::string out;
    while (Take("\t")) {
      out += Until('\n') + "\n";
      Take("\n");
    }
    if (!Take(" >")) return Fail("no end of lines");
    return out;
  }
  // Up to the next pair or the end: literals contain no line feed; JSON strings may have spaces.
  std::string Literal() {
    bool quoted = false;
    size_t at = 0;
    for (; at < rest_.size(); ++at) {
      if (quoted && rest_[at] == '\\') {
        ++at;
      } else if (rest_[at] == '"') {
        quoted = !quoted;
      } else if (!quoted && (rest_[at] == ' ' || rest_[at] == '\n')) {
        break;
      }
    }
    std::string out(rest_.substr(0, at));
    rest_.remove_prefix(std::min(at, rest_.size()));
    return out;
  }
  bool At(char c) const { return !rest_.empty() && rest_[0] == c; }

 private:
  uint32_t Hex(size_t digits) {
    const std::string text(rest_.substr(0, digits));
    rest_.remove_prefix(text.size());
    char* end = nullptr;
    const auto value = static_cast<uint32_t>(std::strtoul(text.c_str(), &end, 16));
    if (text.size() != digits || *end != '\0') Fail("bad hexadecimal number");
    return value;
  }
  std::string Fail(const char* why) {
    error = why;
    rest_ = {};
    return "";
  }

  std::string_view rest_;
};

std::string WithFinalLineFeed(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

// JSON with and without HTML escapes is the same value.
std::string Canonical(const std::string& json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseNumbersAsStringsFlag>(json.data(), json.size());
  if (document.HasParseError()) return "not JSON: " + json;
  if (document.IsString()) return document.GetString();
  if (!document.IsObject()) return json;
  const auto& first = document["k"][0];
  return std::string(first.GetString(), first.GetStringLength());
}

void ExpectTextRecord(const std::string& record, const Call& call) {
  std::smatch match;
  ASSERT_TRUE(std::regex_search(record, match, std::regex(kHeader))) << record;
  EXPECT_EQ(match[1], call.error ? "E" : "I");
  EXPECT_EQ(match[2], "01");
  EXPECT_EQ(match[3], "02");
  EXPECT_EQ(match[4], "15:04:05.067890");
  EXPECT_EQ(match[5], "4711");
  EXPECT_EQ(match[6], "random_records_test.cc");
  BodyReader body(std::string_view(record).substr(static_cast<size_t>(match.length(0))));
  EXPECT_EQ(body.Quoted(), call.message);
  for (size_t i = 0; i < call.keys.size(); ++i) {
    const Sample& sample = call.samples[i];
    ASSERT_TRUE(body.Take(" ")) << record;
    EXPECT_EQ(body.Until('='), call.keys[i]);
    body.Take("=");
    if (sample.kind == Sample::Kind::kLiteral) {
      EXPECT_EQ(Canonical(body.Literal()), Canonical(sample.literal));
    } else if (body.At('<')) {
      EXPECT_NE(sample.text.find('\n'), std::string::npos);
      EXPECT_EQ(body.Lines(), WithFinalLineFeed(sample.text));
    } else if (sample.kind == Sample::Kind::kBytes) {
      // This form has no escape for a byte of no character.
      EXPECT_EQ(Repaired(body.Quoted()), Repaired(sample.text));
    } else {
      EXPECT_EQ(body.Quoted(), sample.text);
    }
    ASSERT_EQ(body.error, "") << record;
  }
  EXPECT_TRUE(body.done()) << record;
}

TEST(RandomRecordsTest, TextIsToldApartAndReadBack) {
  const std::regex first_line(kFirstLine);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator random(seed);
    TestLog test;
    std::vector<Call> calls;
    for (int i = 0; i < kRecords; ++i) {
      calls.push_back(RandomCall(random, Keys::kWords));
      Write(test.log, calls.back());
    }
    // As a collector sees them: one stream of lines, of which some begin a record.
    std::string stream;
    for (const std::string& record : test.output->Records()) stream += record + "\n";
    std::vector<std::string> records;
    for (size_t at = 0; at < stream.size();) {
      const size_t end = stream.find('\n', at);
      const std::string line = stream.substr(at, end - at);
      if (std::regex_search(line.substr(0, 16), first_line)) {
        records.push_back(line);
      } else {
        ASSERT_FALSE(records.empty());
        records.back() += "\n" + line;
      }
      at = end + 1;
    }
    ASSERT_EQ(records.size(), calls.size()) << stream;
    for (size_t i = 0; i < calls.size(); ++i) ExpectTextRecord(records[i], calls[i]);
    if (::testing::Test::HasFailure()) return;
  }
}

std::string Text(const rapidjson::Value& value) {
  return value.IsString() ? std::string(value.GetString(), value.GetStringLength()) : "no string";
}

void ExpectJsonRecord(const std::string& record, const Call& call) {
  ASSERT_EQ(record.find('\n'), std::string::npos) << record;
  std::smatch match;
  ASSERT_TRUE(std::regex_search(record, match, std::regex(kJsonHeader))) << record;
  EXPECT_EQ(match[1], "1136214245067.8909");
  EXPECT_EQ(match[3], "log/random_records_test.cc");
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(record.data(), record.size());
  ASSERT_FALSE(document.HasParseError()) << record;
  ASSERT_TRUE(document.IsObject());
  // ts, caller, msg, the pairs, and the level of what is no error.
  ASSERT_EQ(document.MemberCount(), 3 + call.keys.size() + (call.error ? 0 : 1)) << record;
  auto member = document.MemberBegin() + 2;
  EXPECT_EQ(Text(member->name), "msg");
  EXPECT_EQ(Text(member->value), Repaired(call.message));
  for (size_t i = 0; i < call.keys.size(); ++i) {
    ++member;
    const Sample& sample = call.samples[i];
    EXPECT_EQ(Text(member->name), Repaired(call.keys[i]));
    if (sample.kind == Sample::Kind::kString) {
      EXPECT_EQ(Text(member->value), Repaired(sample.text));
    } else if (sample.kind == Sample::Kind::kBytes) {
      EXPECT_EQ(Text(member->value), Base64Encode(sample.text));
    } else if (member->value.IsObject()) {
      EXPECT_EQ(Text(member->value["k"][0]), Canonical(sample.literal));
    } else if (member->value.IsUint64()) {
      EXPECT_EQ(std::to_string(member->value.GetUint64()), sample.literal);
    } else if (member->value.IsInt64()) {
      EXPECT_EQ(std::to_string(member->value.GetInt64()), sample.literal);
    } else {
      EXPECT_TRUE(member->value.IsBool() || member->value.IsNull());
      EXPECT_EQ(member->value.IsNull()    ? "null"
                : member->value.GetBool() ? "true"
                                          : "false",
                sample.literal);
    }
  }
  if (!call.error) {
    ++member;
    EXPECT_EQ(Text(member->name), "v");
  }
}

TEST(RandomRecordsTest, JsonIsOneObjectALineAndReadBack) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator random(seed);
    TestLog test(Format::kJson);
    for (int i = 0; i < kRecords; ++i) {
      const Call call = RandomCall(random, Keys::kAnything);
      Write(test.log, call);
      ExpectJsonRecord(test.Take(), call);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// The number behind a key, whatever it is, is the number that was given.
TEST(RandomRecordsTest, FloatsAreReadBackFromBothLayouts) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator random(seed);
    const double number = random.Double();
    for (const Format format : {Format::kText, Format::kJson}) {
      TestLog test(format);
      test.log.Info("m", "key", number);
      const std::string record = test.Take();
      const size_t at = record.find(format == Format::kText ? "key=" : "\"key\":");
      ASSERT_NE(at, std::string::npos);
      const std::string digits = record.substr(record.find_first_of("-0123456789", at));
      EXPECT_EQ(std::strtod(digits.c_str(), nullptr), number) << record;
    }
  }
}

}  // namespace
}  // namespace csinative::log
