// SPDX-License-Identifier: Apache-2.0
#include "lib/rpc/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "lib/async/sleep.h"
#include "test/unit/rpc/rpc_fixture.h"

namespace csinative::rpc {
namespace {

using ::csi::v1::CreateVolumeRequest;
using ::csi::v1::CreateVolumeResponse;

constexpr char kCreate[] = "/csi.v1.Controller/CreateVolume";

class ServerTest : public RpcFixture {
 protected:
  void SetUp() override {
    StartServer();
    ASSERT_TRUE(Dial().ok());
  }
  template <typename F>
  void Answer(F handler) {
    Handle<CreateVolumeRequest, CreateVolumeResponse>(*server, kCreate, std::move(handler));
  }
  Status Create(CreateVolumeRequest request = {}, Duration limit = 5s) {
    return Run(async::WithTimeout(limit, channel->Call(kCreate, request, &response)));
  }
  CreateVolumeResponse response;
};

TEST_F(ServerTest, RequestAndResponsePassUnchanged) {
  Answer([](CreateVolumeRequest request, CreateVolumeResponse* response) -> async::Task<Status> {
    response->mutable_volume()->set_volume_id(request.name());
    co_return Status();
  });
  CreateVolumeRequest request;
  request.set_name(std::string("a\0b\xc3\xa9", 5));
  ASSERT_TRUE(Create(request).ok());
  EXPECT_EQ(response.volume().volume_id(), request.name());
}

TEST_F(ServerTest, FailureKeepsCodeAndText) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    co_return AlreadyExistsError("100% full: \xe2\x82\xac\n<x>");
  });
  const Status status = Create();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(Description(status), "100% full: \xe2\x82\xac\n<x>");
}

TEST_F(ServerTest, CodeOutsideTheClosedSetArrives) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    co_return RpcStatus(20, "odd");
  });
  EXPECT_EQ(ErrorText(Create()), "rpc error: code = Code(20) desc = odd");
}

TEST_F(ServerTest, FailureOfACallIsPassedOnAsItCame) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    co_return RpcStatus(14, "backend down");
  });
  EXPECT_EQ(ErrorText(Create()), "rpc error: code = Unavailable desc = backend down");
}

// The metadata trap: with the library's default of 8 KiB this arrives as ResourceExhausted.
TEST_F(ServerTest, LongErrorTextArrives) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    co_return InternalError(std::string(100'000, 'e'));
  });
  const Status status = Create();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(Description(status).size(), 100'000u);
}

TEST_F(ServerTest, AnswerOfFourMebibytesArrivesAndOneByteMoreHasGoText) {
  Answer([](CreateVolumeRequest request, CreateVolumeResponse* response) -> async::Task<Status> {
    // Two length-delimited fields around the payload: 1 + 4 bytes each.
    response->mutable_volume()->set_volume_id(
        std::string(request.capacity_range().required_bytes(), 'x'));
    co_return Status();
  });
  CreateVolumeRequest request;
  request.mutable_capacity_range()->set_required_bytes(4 * 1024 * 1024 - 10);
  Status status = Create(request);
  EXPECT_TRUE(status.ok()) << status.ToString();
  request.mutable_capacity_range()->set_required_bytes(4 * 1024 * 1024 - 9);
  EXPECT_EQ(ErrorText(Create(request)),
            "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
            "(4194305 vs. 4194304)");
  EXPECT_EQ(CallInfo(), "OK");  // the connection goes on
}

TEST_F(ServerTest, UnknownMethodAndServiceAreWordedAsInGo) {
  EXPECT_EQ(ErrorText(Create()),
            "rpc error: code = Unimplemented desc = unknown service csi.v1.Controller");
  ::csi::v1::ProbeResponse probe;
  EXPECT_EQ(ErrorText(Run(channel->Call(kProbe, ::csi::v1::ProbeRequest(), &probe))),
            "rpc error: code = Unimplemented desc = unknown method Probe for service "
            "csi.v1.Identity");
}

TEST_F(ServerTest, RequestThatCannotBeParsedIsRefused) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    co_return Status();
  });
  // A string where a message is expected: its bytes are no message.
  ::csi::v1::ProbeRequest broken;
  broken.GetReflection()->MutableUnknownFields(&broken)->AddLengthDelimited(
      CreateVolumeRequest::kCapacityRangeFieldNumber, "\xff");
  EXPECT_EQ(ErrorText(Run(channel->Call(kCreate, broken, &response))),
            "rpc error: code = Internal desc = grpc: error unmarshalling request: proto: cannot "
            "parse invalid wire-format data");
}

TEST_F(ServerTest, AnswerThatCannotBeParsedHasGoText) {
  Answer([](CreateVolumeRequest, CreateVolumeResponse* response) -> async::Task<Status> {
    response->GetReflection()->MutableUnknownFields(response)->AddLengthDelimited(
        CreateVolumeResponse::kVolumeFieldNumber, "\xff");
    co_return Status();
  });
  EXPECT_EQ(ErrorText(Create()),
            "rpc error: code = Internal desc = grpc: failed to unmarshal the received message: "
            "proto: cannot parse invalid wire-format data");
}

TEST_F(ServerTest, HandlerSeesTheDeadlineOfTheClient) {
  static Duration left;
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    async::TaskContext context = co_await async::CurrentContext();
    left = *context.cancel->deadline() - context.loop->Now();
    co_return Status();
  });
  ASSERT_TRUE(Create({}, 3s).ok());
  EXPECT_GT(left, 2s);
  EXPECT_LE(left, 3100ms);  // the wire rounds up
}

TEST_F(ServerTest, HandlerIsCancelledWhenTheClientGivesUp) {
  static std::string reason;
  reason.clear();
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    Status status = co_await async::Sleep(60s);
    reason = status.message();
    co_return status;
  });
  EXPECT_EQ(Create({}, 30ms).code(), Code::kDeadlineExceeded);
  EXPECT_TRUE(Until([] { return !reason.empty(); }));
  EXPECT_TRUE(reason == "context deadline exceeded" || reason == "context canceled") << reason;
}

TEST_F(ServerTest, HandlersRunConcurrently) {
  static async::Event* release;
  async::Event event;
  release = &event;
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    release->Set();
    co_return Status();
  });
  Handle<::csi::v1::ProbeRequest, ::csi::v1::ProbeResponse>(
      *server, kProbe,
      [](::csi::v1::ProbeRequest, ::csi::v1::ProbeResponse*) -> async::Task<Status> {
        co_return co_await release->Wait();
      });
  async::Scope scope(loop);
  struct Caller {
    static async::Task<void> Go(Channel* channel, Status* out) {
      ::csi::v1::ProbeResponse response;
      *out = co_await channel->Call(kProbe, ::csi::v1::ProbeRequest(), &response);
    }
  };
  Status waited = CancelledError();
  scope.Spawn(Caller::Go(channel.get(), &waited));
  (void)Run(async::Sleep(10ms));
  EXPECT_TRUE(Create().ok());
  Run(scope.Join());
  EXPECT_TRUE(waited.ok());
}

TEST_F(ServerTest, CloseCancelsHandlersAndRemovesTheSocket) {
  static Status seen;
  seen = Status();
  Answer([](CreateVolumeRequest, CreateVolumeResponse*) -> async::Task<Status> {
    seen = co_await async::Sleep(60s);
    co_return seen;
  });
  async::Scope scope(loop);
  struct Caller {
    static async::Task<void> Go(Channel* channel) {
      CreateVolumeResponse response;
      (void)co_await channel->Call(kCreate, CreateVolumeRequest(), &response);
    }
  };
  scope.Spawn(Caller::Go(channel.get()));
  (void)Run(async::Sleep(20ms));
  StopServer();
  EXPECT_TRUE(IsCancelled(seen));
  EXPECT_NE(access((dir.path() + "/s").c_str(), F_OK), 0);
  Run(scope.Join());
}

TEST_F(ServerTest, CloseDuringAStormOfCallsIsClean) {
  async::Scope scope(loop);
  struct Caller {
    static async::Task<void> Go(Channel* channel) {
      for (int i = 0; i < 50; ++i) {
        ::csi::v1::GetPluginInfoResponse response;
        Status status = co_await channel->Call(kInfo, ::csi::v1::GetPluginInfoRequest(), &response);
        if (!status.ok()) co_return;
      }
    }
  };
  for (int i = 0; i < 50; ++i) scope.Spawn(Caller::Go(channel.get()));
  (void)Run(async::Sleep(5ms));
  StopServer();
  Run(scope.Join());
}

TEST(ServerLifetimeTest, DiscardedLoopTakesServerAndHandlersWithIt) {
  TempDir dir;
  struct Owner {
    static async::Task<void> Go(async::RealLoop* loop, std::string address, bool* handling) {
      std::unique_ptr<Server> server = NewServer(*loop);
      Handle<CreateVolumeRequest, CreateVolumeResponse>(
          *server, kCreate, [handling](CreateVolumeRequest, CreateVolumeResponse*) {
            *handling = true;
            return async::Sleep(60s);
          });
      if (!server->Start(address).ok()) co_return;
      Result<std::unique_ptr<Channel>> channel = co_await Connect(*loop, address, {});
      CreateVolumeResponse response;
      (void)co_await (*channel)->Call(kCreate, CreateVolumeRequest(), &response);
    }
  };
  bool handling = false;
  async::RealLoop loop;
  async::Scope scope(loop);
  scope.Spawn(Owner::Go(&loop, dir.Address("s"), &handling));
  while (!handling) (void)async::RunTask(loop, async::Sleep(1ms));
  loop.Discard();
  EXPECT_TRUE(scope.empty());
}

TEST(ServerStartTest, PathIsTakenLiterally) {
  async::RealLoop loop;
  TempDir dir;
  for (const char* name : {"100%41", "a?b=c", "a#b", "with space", "d\xc3\xa9j\xc3\xa0"}) {
    std::unique_ptr<Server> server = NewServer(loop);
    const Status started = server->Start(dir.Address(name));
    EXPECT_TRUE(started.ok()) << started.ToString();
    struct stat info = {};
    EXPECT_EQ(lstat((dir.path() + "/" + name).c_str(), &info), 0) << name;
    async::RunTask(loop, server->Close());
  }
}

TEST(ServerStartTest, StaleSocketIsReplaced) {
  TempDir dir;
  async::RealLoop loop;
  std::unique_ptr<Server> first = NewServer(loop);
  ASSERT_TRUE(first->Start(dir.Address("s")).ok());
  // Another name for the socket survives the first server, as after a crash.
  ASSERT_EQ(link((dir.path() + "/s").c_str(), (dir.path() + "/stale").c_str()), 0);
  async::RunTask(loop, first->Close());
  std::unique_ptr<Server> second = NewServer(loop);
  EXPECT_TRUE(second->Start(dir.Address("stale")).ok());
  async::RunTask(loop, second->Close());
}

TEST(ServerStartTest, FailureIsWordedAsInGo) {
  TempDir dir;
  async::RealLoop loop;
  std::unique_ptr<Server> server = NewServer(loop);
  EXPECT_EQ(server->Start(dir.Address("none/s")).message(),
            "listen unix " + dir.path() + "/none/s: bind: no such file or directory");
  std::ofstream(dir.path() + "/file") << "kept";
  server = NewServer(loop);
  EXPECT_EQ(server->Start(dir.Address("file")).message(),
            "listen unix " + dir.path() + "/file: bind: address already in use");
}

}  // namespace
}  // namespace csinative::rpc
