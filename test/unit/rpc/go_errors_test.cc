// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/go_errors.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "lib/rpc/channel.h"

namespace csinative::rpc {
namespace {

struct Row {
  const char* name;
  grpc::StatusCode code;
  const char* text;
  const char* expected;
  bool from_trailers = true;
  bool connection_ok = true;
  bool deadline_passed = false;
  Resend resend = Resend::kNo;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }

class TranslateFailureTest : public ::testing::TestWithParam<Row> {};

TEST_P(TranslateFailureTest, SpeaksGo) {
  const Row& row = GetParam();
  CallFacts facts;
  facts.from_trailers = row.from_trailers;
  facts.connection_ok = row.connection_ok;
  facts.deadline_passed = row.deadline_passed;
  facts.request_bytes = 7;
  facts.peer = "unix @->/csi/csi.sock";
  Verdict verdict = TranslateFailure(grpc::Status(row.code, row.text), facts);
  EXPECT_EQ(ErrorText(verdict.status), std::string("rpc error: code = ") + row.expected);
  EXPECT_EQ(static_cast<int>(verdict.resend), static_cast<int>(row.resend));
}

using enum grpc::StatusCode;
INSTANTIATE_TEST_SUITE_P(
    Common7_5, TranslateFailureTest,
    ::testing::Values(
        Row{"driver_text_is_unchanged", INTERNAL, "exit status 32: <mount>",
            "Internal desc = exit status 32: <mount>"},
        Row{"driver_unavailable_is_unchanged", UNAVAILABLE, "backend down",
            "Unavailable desc = backend down"},
        Row{"driver_unavailable_then_crash_is_unchanged", UNAVAILABLE, "backend down",
            "Unavailable desc = backend down", true, false},
        Row{"driver_socket_text_on_live_connection_is_unchanged", UNAVAILABLE, "Socket closed",
            "Unavailable desc = Socket closed"},
        Row{"eof", UNAVAILABLE, "Socket closed",
            "Unavailable desc = error reading from server: EOF", true, false},
        Row{"connection_reset", UNAVAILABLE, "recvmsg:Connection reset by peer",
            "Unavailable desc = error reading from server: read unix @->/csi/csi.sock: read: "
            "connection reset by peer",
            true, false},
        Row{"garbage", UNKNOWN, "Stream removed",
            "Unavailable desc = error reading from server: EOF"},
        Row{"goaway", UNAVAILABLE, "GOAWAY received",
            "Unavailable desc = the connection is draining", true, true, false,
            Resend::kNewConnection},
        Row{"local_deadline", DEADLINE_EXCEEDED, "Deadline Exceeded",
            "DeadlineExceeded desc = context deadline exceeded", false, true, true},
        Row{"driver_deadline_is_unchanged", DEADLINE_EXCEEDED, "backend slow",
            "DeadlineExceeded desc = backend slow", true, true, true},
        Row{"driver_deadline_before_ours_is_unchanged", DEADLINE_EXCEEDED, "Deadline Exceeded",
            "DeadlineExceeded desc = Deadline Exceeded"},
        Row{"too_large", RESOURCE_EXHAUSTED, "Received message larger than max (5 vs. 4)",
            "ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)"},
        Row{"driver_finds_request_too_large", RESOURCE_EXHAUSTED,
            "Received message larger than max (7 vs. 4)",
            "ResourceExhausted desc = Received message larger than max (7 vs. 4)"},
        Row{"reset_internal", INTERNAL, "Received RST_STREAM with error code 2",
            "Internal desc = stream terminated by RST_STREAM with error code: INTERNAL_ERROR"},
        Row{"reset_refused", UNAVAILABLE, "Received RST_STREAM with error code 7",
            "Unavailable desc = stream terminated by RST_STREAM with error code: REFUSED_STREAM",
            true, true, false, Resend::kSameConnection},
        Row{"reset_cancel", CANCELLED, "Received RST_STREAM with error code 8",
            "Canceled desc = stream terminated by RST_STREAM with error code: CANCEL"},
        Row{"reset_cancel_at_deadline", CANCELLED, "Received RST_STREAM with error code 8",
            "DeadlineExceeded desc = stream terminated by RST_STREAM with error code: CANCEL", true,
            true, true},
        Row{"reset_calm", RESOURCE_EXHAUSTED, "Received RST_STREAM with error code 11",
            "ResourceExhausted desc = stream terminated by RST_STREAM with error code: "
            "ENHANCE_YOUR_CALM"},
        Row{"reset_unknown_number", INTERNAL, "Received RST_STREAM with error code 99",
            "Internal desc = Received RST_STREAM with error code 99"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RpcStatusTest, KeepsTheNumberAndTheDescription) {
  Status status = RpcStatus(57, "odd");
  EXPECT_EQ(status.code(), Code::kUnknown);
  EXPECT_EQ(status.rpc_error()->grpc_code, 57);
  EXPECT_EQ(ErrorText(status), "rpc error: code = Code(57) desc = odd");
  EXPECT_EQ(Description(status), "odd");
}

TEST(RpcStatusTest, ContextComesBeforeTheWholeText) {
  Status status = RpcStatus(14, "down").WithContext("failed to attach");
  EXPECT_EQ(ErrorText(status), "failed to attach: rpc error: code = Unavailable desc = down");
  EXPECT_EQ(Description(status), "down");
}

}  // namespace
}  // namespace csinative::rpc
