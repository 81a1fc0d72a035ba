// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <vector>

#include "lib/base/strings.h"
#include "lib/http/gzip.h"
#include "lib/serve/cpu_profiler.h"
#include "test/unit/serve/recorder.h"

namespace csinative::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PprofTest : public ::testing::Test {
 protected:
  PprofTest() { EXPECT_TRUE(HandlePprof(mux_).ok()); }
  http::Response Ask(std::string target, std::string method = "GET", std::string body = "") {
    return Call(
        mux_.AsHandler(),
        {.method = std::move(method), .target = std::move(target), .body = std::move(body)});
  }
  Mux mux_;
};

TEST_F(PprofTest, IndexListsWhatThereIs) {
  const http::Response response = Ask("/debug/pprof/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.Get("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.headers.Get("X-Content-Type-Options"), "nosniff");
  for (const char* text : {"/debug/pprof/", "cmdline", "profile", "symbol"}) {
    EXPECT_THAT(response.body, HasSubstr(text));
  }
}

TEST_F(PprofTest, UnknownProfileIsNotFound) {
  const http::Response response = Ask("/debug/pprof/nonsense");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "Unknown profile\n");
}

TEST_F(PprofTest, ProfilesOfGosRuntimeAreNotImplemented) {
  for (const char* name : {"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"}) {
    const http::Response response = Ask(StrCat("/debug/pprof/", name, "?debug=1"));
    EXPECT_EQ(response.status, 501);
    EXPECT_THAT(response.body, HasSubstr("not a Go program"));
  }
  EXPECT_EQ(Ask("/debug/pprof/trace?seconds=1").status, 501);
}

TEST_F(PprofTest, CommandLineIsJoinedByNul) {
  const http::Response response = Ask("/debug/pprof/cmdline");
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.body, HasSubstr("unit_serve"));
  EXPECT_NE(response.body.back(), '\0');
}

TEST_F(PprofTest, SymbolNamesAddresses) {
  EXPECT_EQ(Ask("/debug/pprof/symbol").body, "num_symbols: 1\n");
  const auto address = reinterpret_cast<uintptr_t>(&::clock_gettime);
  char text[32];
  std::snprintf(text, sizeof(text), "%#lx", static_cast<unsigned long>(address));
  EXPECT_EQ(Ask("/debug/pprof/symbol", "POST", StrCat(text, "+0x1")).body,
            StrCat("num_symbols: 1\n", text, " clock_gettime\n"));
}

TEST_F(PprofTest, SecondProfileAtATimeIsRefused) {
  auto running = CpuProfiler::Start(std::chrono::seconds(1));
  ASSERT_TRUE(running.ok());
  const http::Response response = Ask("/debug/pprof/profile?seconds=1");
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "Could not enable CPU profiling: cpu profiling already in use\n");
}

// Top-level fields of a protocol buffer message: number to values (text, or decimal of a varint).
std::multimap<int, std::string> Fields(std::string_view bytes) {
  std::multimap<int, std::string> out;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!bytes.empty()) {
    const uint64_t tag = varint();
    const uint64_t value = varint();
    if ((tag & 7) == 0) {
      out.emplace(static_cast<int>(tag >> 3), std::to_string(value));
    } else {
      out.emplace(static_cast<int>(tag >> 3), std::string(bytes.substr(0, value)));
      bytes.remove_prefix(std::min<size_t>(value, bytes.size()));
    }
  }
  return out;
}

// Uses processor time until ten samples are due.
uint64_t Spin() {
  uint64_t state = 1;
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 10) {
    for (int i = 0; i < 100000; ++i) state = state * 6364136223846793005 + 1;
  }
  return state;
}

TEST(CpuProfilerTest, BusyLoopIsSampled) {
  auto profiler = CpuProfiler::Start(std::chrono::seconds(1));
  ASSERT_TRUE(profiler.ok());
  EXPECT_NE(Spin(), 0u);
  const auto profile = Fields((*profiler)->Finish());
  EXPECT_EQ(profile.count(1), 2u);   // sample types
  EXPECT_GE(profile.count(2), 1u);   // samples
  EXPECT_GE(profile.count(3), 1u);   // mappings
  EXPECT_GE(profile.count(4), 1u);   // locations
  ASSERT_EQ(profile.count(12), 1u);  // period
  EXPECT_EQ(profile.find(12)->second, "10000000");
  EXPECT_TRUE(CpuProfiler::Start(std::chrono::seconds(1)).ok());
}

}  // namespace
}  // namespace csinative::serve
