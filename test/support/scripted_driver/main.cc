// SPDX-License-Identifier: Apache-2.0
//
// scripted-driver SOCKET SCRIPT LOG: a CSI driver that does what a file says. See README.md.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "proto/csi/v1/csi.pb.h"
#include "test/support/scripted_driver/call.h"

namespace csinative::scripted_driver {
namespace {

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: scripted-driver SOCKET SCRIPT LOG\n");
    return 2;
  }
  // The messages are found by name only: this keeps them linked.
  google::protobuf::LinkMessageReflection<::csi::v1::ProbeRequest>();
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // before gRPC makes its threads

  Script script(argv[2]);
  CallLog log(argv[3]);
  if (!log.ok()) {
    std::fprintf(stderr, "scripted-driver: cannot write %s\n", argv[3]);
    return 1;
  }
  ::unlink(argv[1]);
  ScriptedService service(script, log);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
  // The caller's own deadline shall end a call, as with drivers in Go; gRPC's C++ servers would
  // answer first.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 0);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::fprintf(stderr, "scripted-driver: cannot listen on %s\n", argv[1]);
    return 1;
  }
  int signal = 0;
  sigwait(&stop, &signal);
  server->Shutdown(std::chrono::system_clock::now());  // cancels what is in progress
  server->Wait();
  ::unlink(argv[1]);
  return 0;
}

}  // namespace
}  // namespace csinative::scripted_driver

int main(int argc, char** argv) { return csinative::scripted_driver::Main(argc, argv); }
