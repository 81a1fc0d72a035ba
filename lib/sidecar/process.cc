// SPDX-License-Identifier: Apache-2.0
#include "lib/sidecar/process.h"

#include <linux/close_range.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "lib/async/run.h"
#include "lib/log/output.h"
#include "lib/sidecar/signals.h"
#include "lib/sidecar/startup_code.h"

namespace csinative::sidecar {
namespace {

// By then a controller has read what there is.
constexpr Duration kStarted = std::chrono::seconds(10);

// As Go's runtime does at start (package os, rlimit.go): the soft limit of 1,024 that services
// usually have is for programs that use select().
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::string Process::program_name() const {
  const size_t slash = program_.rfind('/');
  return slash == std::string::npos ? program_ : program_.substr(slash + 1);
}

void Process::Fatal(std::string text) {
  log_.Fatalf("{}", text);
  Exit(255);
}

void Process::Panic(std::string text) {
  const std::string line = "panic: " + text + "\n";
  (void)!::write(2, line.data(), line.size());
  Exit(2);
}

RealProcess::RealProcess(int argc, char** argv, boost::asio::io_context* shared)
    : argv_(argv),
      arguments_(argv + (argc > 0 ? 1 : 0), argv + argc),
      backend_(std::make_shared<log::Backend>(log::NewFdOutput(2))),
      random_(NewSystemRandom()),
      loop_(shared) {
  program_ = argc > 0 ? argv[0] : "";
  log_ = log::Logger(backend_);
  InstallDefaultSignalHandling();
  RaiseDescriptorLimit();
  loop_.set_exception_handler([this](std::exception_ptr error) {
    std::string what = "an exception of unknown type";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
    }
    log_.Error(what, "Observed a panic");
    Panic(what);
  });
}

RealProcess::~RealProcess() = default;

std::optional<std::string> RealProcess::GetEnv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::string RealProcess::HostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

void RealProcess::Exit(int code) {
  // Output is unbuffered, and other threads still use what static destructors would take away.
  std::fflush(nullptr);
  std::_Exit(code);
}

void RealProcess::StartAnew() {
  std::fflush(nullptr);
  // A timer of the profiler outlives the exec, its handler does not.
  const itimerval off = {};
  ::setitimer(ITIMER_PROF, &off, nullptr);
  // Whatever was opened without the flag goes, too; kernels that do not know the call only leak it.
  ::syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv("/proc/self/exe", argv_);
  log_.Error(OsStatus(errno, "exec"), "Failed to start anew");
  Exit(1);
}

void RealProcess::Run(async::Task<int> main_task) {
  const async::ScopedTimer started(loop_, loop_.Now() + kStarted, [] {
    ReleaseStartupCode();
    // What was read at start left holes between the objects that stay.
    ::malloc_trim(0);
  });
  const int code = async::RunTask(loop_, std::move(main_task));
  Exit(code);
  std::abort();
}

}  // namespace csinative::sidecar
