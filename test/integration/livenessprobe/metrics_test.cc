// SPDX-License-Identifier: Apache-2.0
//
// What Prometheus sees of livenessprobe (registrar 1.5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/strings.h"
#include "test/integration/livenessprobe/fixture.h"
#include "test/support/oracle.h"

namespace csinative {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class LivenessprobeMetricsTest : public LivenessprobeFixture {
 protected:
  void SetUp() override {
    StartDriver();
    StartServing();
  }
  std::string Scrape(const std::string& header = "") const {
    return Http("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + "\r\n");
  }
  // The lines that start so.
  static std::vector<std::string> Lines(const std::string& text, std::string_view start) {
    std::vector<std::string> out;
    for (std::string_view line : Split(text, '\n')) {
      if (line.starts_with(start)) out.emplace_back(line);
    }
    return out;
  }
};

// I1, 12.13 row 36, 12.4 row 13.
TEST_F(LivenessprobeMetricsTest, FirstScrapeHasTheNameCallUnderAnUnknownDriver) {
  const oracle::Row row("registrar/12.13/36");
  const oracle::Row row2("registrar/12.4/11");
  const std::string answer = Scrape();
  EXPECT_THAT(Lines(answer, "# TYPE "),
              ElementsAre("# TYPE csi_sidecar_operations_seconds histogram",
                          "# TYPE process_start_time_seconds gauge"));
  EXPECT_THAT(Lines(answer, "# HELP "),
              ElementsAre("# HELP csi_sidecar_operations_seconds [ALPHA] Container Storage "
                          "Interface operation duration with gRPC error code status total",
                          "# HELP process_start_time_seconds [ALPHA] Start time of the process "
                          "since unix epoch in seconds."));
  EXPECT_THAT(Lines(answer, "csi_sidecar_operations_seconds_count"),
              ElementsAre("csi_sidecar_operations_seconds_count{driver_name=\"unknown-driver\","
                          "grpc_status_code=\"OK\",method_name=\"/csi.v1.Identity/GetPluginInfo\"} "
                          "1"));
  EXPECT_EQ(Lines(answer, "csi_sidecar_operations_seconds_bucket").size(), 14u);
  EXPECT_THAT(Lines(answer, "process_start_time_seconds "), ElementsAre(HasSubstr("e+09")));
}

// I2.
TEST_F(LivenessprobeMetricsTest, SeriesAreInTheOrderOfTheirLabels) {
  EXPECT_THAT(Get("/healthz"), EndsWith("ok"));
  EXPECT_THAT(Get("/healthz"), EndsWith("ok"));
  EXPECT_THAT(
      Lines(Scrape(), "csi_sidecar_operations_seconds_count"),
      ElementsAre(
          "csi_sidecar_operations_seconds_count{driver_name=\"sample.csi-native.io\","
          "grpc_status_code=\"OK\",method_name=\"/csi.v1.Identity/Probe\"} 2",
          "csi_sidecar_operations_seconds_count{driver_name=\"unknown-driver\",grpc_status_code="
          "\"OK\",method_name=\"/csi.v1.Identity/GetPluginInfo\"} 1"));
}

// I3.
TEST_F(LivenessprobeMetricsTest, HeadersTellFormatAndStartOfTheProcess) {
  const std::string answer = Scrape();
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8; "
                                "escaping=underscores\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nProcess-Start-Time-Unix: 1"));
  EXPECT_THAT(Http("POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string head = Http("HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

struct AcceptRow {
  const char* name;
  const char* accept;
  const char* escaping = "underscores";
};
void PrintTo(const AcceptRow& row, std::ostream* out) { *out << row.name; }

class LivenessprobeAcceptTest : public LivenessprobeMetricsTest,
                                public ::testing::WithParamInterface<AcceptRow> {};

// I4 to I6. Text for everybody is a valid answer to those who would take protobuf too.
TEST_P(LivenessprobeAcceptTest, IsAnsweredInText) {
  EXPECT_THAT(Scrape(StrCat("Accept: ", GetParam().accept, "\r\n")),
              HasSubstr(StrCat("Content-Type: text/plain; version=0.0.4; charset=utf-8; escaping=",
                               GetParam().escaping, "\r\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LivenessprobeAcceptTest,
    ::testing::Values(
        AcceptRow{"openmetrics", "application/openmetrics-text; version=1.0.0"},
        AcceptRow{"later_version", "text/plain;version=1.0.0"},
        AcceptRow{"json", "application/json"},
        AcceptRow{"protobuf",
                  "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
                  "encoding=delimited"},
        AcceptRow{"escaping", "text/plain;version=0.0.4;escaping=allow-utf-8", "allow-utf-8"}),
    [](const auto& info) { return std::string(info.param.name); });

// I7.
TEST_F(LivenessprobeMetricsTest, GzipIsUsedForWhoTakesItAndNothingElse) {
  const std::string packed = Scrape("Accept-Encoding: gzip\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_LT(packed.size(), Scrape().size() / 2);
  EXPECT_THAT(Scrape("Accept-Encoding: zstd, deflate\r\n"), Not(HasSubstr("Content-Encoding")));
}

}  // namespace
}  // namespace csinative
