// SPDX-License-Identifier: Apache-2.0
#include "apis/envelope.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "apis/k8s.h"

namespace csinative::apis {
namespace {

using namespace std::string_literals;  // NOLINT: test texts with zero bytes

TEST(EnvelopeTest, WrapWritesWhatGoWrites) {
  // kube-client 8.1.
  EXPECT_EQ(WrapRaw("v1", "ConfigMap", ""),
            "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
            "ConfigMap\x12\x00\x1a\x00\x22\x00"s);
  core::ConfigMap map;
  map.mutable_metadata()->set_name("x");
  EXPECT_EQ(Wrap("v1", "ConfigMap", map), WrapRaw("v1", "ConfigMap", map.SerializeAsString()));
}

TEST(EnvelopeTest, UnwrapGivesViewsOfTheParts) {
  std::string raw(100'000, 'x');
  std::string bytes = WrapRaw("storage.k8s.io/v1", "StorageClass", raw);
  Result<Envelope> envelope = Unwrap(bytes);
  ASSERT_TRUE(envelope.ok());
  EXPECT_EQ(envelope->api_version, "storage.k8s.io/v1");
  EXPECT_EQ(envelope->kind, "StorageClass");
  EXPECT_EQ(envelope->raw, raw);
  EXPECT_GE(envelope->raw.data(), bytes.data());
  EXPECT_LE(envelope->raw.data() + raw.size(), bytes.data() + bytes.size());
}

TEST(EnvelopeTest, UnwrapNamesWhatIsWrong) {
  // 24.6 F9.
  constexpr char kPrefix[] =
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
  EXPECT_EQ(Unwrap("").status().message(), "empty data");
  EXPECT_EQ(Unwrap("{\"a\":1}").status().message(), kPrefix);
  EXPECT_EQ(Unwrap("k8s").status().message(), kPrefix);
  EXPECT_EQ(Unwrap("k8s\0"s).status().message(), "empty body");
  EXPECT_FALSE(Unwrap("k8s\0\x0a\x05"s).ok());
}

TEST(EnvelopeTest, UnwrapSkipsFieldsItDoesNotKnow) {
  std::string bytes =
      "k8s\0\x28\x07\x31"
      "12345678\x3d"
      "1234\x12\x01z"s;
  Result<Envelope> envelope = Unwrap(bytes);
  ASSERT_TRUE(envelope.ok());
  EXPECT_EQ(envelope->raw, "z");
  EXPECT_EQ(envelope->kind, "");
}

TEST(EnvelopeTest, UnwrapIntoDropsUnknownFields) {
  // A PersistentVolume whose metadata has managedFields (17), as every stored object has.
  std::string managed(10 * 1024, 'm');
  core::PersistentVolume pv;
  pv.mutable_metadata()->set_name("pv");
  std::string lean = pv.SerializeAsString();
  runtime::Unknown big;  // any message with a bytes field, for its wire form
  big.set_raw(managed);
  pv.mutable_metadata()
      ->GetReflection()
      ->MutableUnknownFields(pv.mutable_metadata())
      ->AddLengthDelimited(17, big.SerializeAsString());
  std::string bytes = Wrap("v1", "PersistentVolume", pv);
  ASSERT_GT(bytes.size(), managed.size());

  core::PersistentVolume read;
  ASSERT_TRUE(UnwrapInto(bytes, &read).ok());
  EXPECT_EQ(read.SerializeAsString(), lean);
  EXPECT_FALSE(UnwrapInto(WrapRaw("v1", "PersistentVolume", "\x0a\x7f"), &read).ok());
}

TEST(EnvelopeTest, SurvivesRandomBytes) {
  std::mt19937 random(7);
  std::string good = WrapRaw("v1", "Pod", "0123456789");
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (int k = random() % 4; k >= 0; --k) {
      bytes[4 + random() % (bytes.size() - 4)] = static_cast<char>(random());
    }
    bytes.resize(random() % (bytes.size() + 1));
    Result<Envelope> envelope = Unwrap(bytes);
    if (!envelope.ok()) continue;
    EXPECT_LE(envelope->raw.size() + envelope->kind.size(), bytes.size());
  }
}

std::vector<std::string> Drain(WatchFrameReader* reader) {
  std::vector<std::string> out;
  while (true) {
    Result<std::optional<WatchFrame>> frame = reader->Next();
    if (!frame.ok()) {
      out.push_back("error: " + frame.status().message());
    } else if (!frame->has_value()) {
      return out;
    } else {
      out.push_back((*frame)->type + ":" + (*frame)->object);
    }
  }
}

std::string Stream() {
  std::string bytes;
  AppendWatchFrame("ADDED", "one", &bytes);
  AppendWatchFrame("MODIFIED", "", &bytes);
  AppendWatchFrame("BOOKMARK", "three", &bytes);
  return bytes;
}

TEST(WatchFrameReaderTest, FramesMayBeSplitAnywhere) {
  std::string bytes = Stream();
  for (size_t step = 1; step <= bytes.size(); ++step) {
    WatchFrameReader reader;
    std::vector<std::string> got;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Feed(std::string_view(bytes).substr(at, step));
      for (std::string& event : Drain(&reader)) got.push_back(std::move(event));
    }
    EXPECT_EQ(got, (std::vector<std::string>{"ADDED:one", "MODIFIED:", "BOOKMARK:three"})) << step;
    EXPECT_TRUE(reader.Finish().ok());
    EXPECT_EQ(reader.buffered(), 0u);
  }
}

TEST(WatchFrameReaderTest, FrameIsABareWatchEvent) {
  std::string bytes;
  AppendWatchFrame("DELETED", "x", &bytes);
  meta::WatchEvent event;
  ASSERT_TRUE(event.ParseFromString(bytes.substr(4)));
  EXPECT_EQ(event.type(), "DELETED");
  EXPECT_EQ(event.object().raw(), "x");
  EXPECT_EQ(bytes.substr(0, 4), std::string("\0\0\0", 3) + static_cast<char>(bytes.size() - 4));
}

TEST(WatchFrameReaderTest, CutFrameIsAnUnexpectedEnd) {
  // 24.6 F2.
  WatchFrameReader reader;
  reader.Feed(Stream());
  Drain(&reader);
  reader.Feed("\0\0\0\x04\x01\x02"s);
  EXPECT_TRUE(Drain(&reader).empty());
  EXPECT_EQ(reader.Finish().message(), "unexpected EOF");
}

TEST(WatchFrameReaderTest, TooLargeFrameIsDrainedAndTheNextOneRead) {
  // 24.6 F4.
  WatchFrameReader reader;
  reader.Feed("\x01\x00\x00\x01"s);
  std::string chunk(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) reader.Feed(chunk);
  EXPECT_EQ(
      Drain(&reader),
      (std::vector<std::string>{"error: object to decode was longer than maximum allowed size"}));
  EXPECT_EQ(reader.Finish().message(), "unexpected EOF");
  reader.Feed("x" + Stream());
  EXPECT_EQ(Drain(&reader).size(), 3u);
  EXPECT_TRUE(reader.Finish().ok());
}

TEST(WatchFrameReaderTest, FrameThatIsNoEventIsSkipped) {
  WatchFrameReader reader;
  reader.Feed("\0\0\0\x02\xff\xff"s + Stream());
  EXPECT_EQ(Drain(&reader), (std::vector<std::string>{"error: unable to decode watch event",
                                                      "ADDED:one", "MODIFIED:", "BOOKMARK:three"}));
}

}  // namespace
}  // namespace csinative::apis
