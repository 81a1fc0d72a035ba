// SPDX-License-Identifier: Apache-2.0
#include "lib/serve/cpu_profiler.h"

#include <sys/time.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

namespace csinative::serve {
namespace {

constexpr int64_t kPeriodNanos = 10'000'000;  // Go: runtime/pprof samples at 100 Hz
constexpr size_t kMaxDepth = 48;
constexpr size_t kMaxSamples = 20'000;  // 8 MB while a profile runs

struct Sample {
  std::atomic<uint32_t> depth{0};  // set last
  uint64_t addresses[kMaxDepth];
};

struct Buffer {
  explicit Buffer(size_t n) : samples(n) {}
  std::vector<Sample> samples;
  std::atomic<size_t> used{0};
};

// What the signal handler sees. Only one profiler owns it at a time; a handler that has just begun
// when the owner stops is waited for.
std::atomic<bool> owned{false};
std::atomic<Buffer*> current{nullptr};
std::atomic<int> inside{0};

// Two words of memory that may not be there: libraries without frame pointers leave anything in
// the register.
bool ReadFrame(uint64_t address, uint64_t* frame) {
  iovec local = {.iov_base = frame, .iov_len = 16};
  iovec remote = {.iov_base = reinterpret_cast<void*>(address), .iov_len = 16};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 16;
}

void OnSignal(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  inside.fetch_add(1);
  if (Buffer* buffer = current.load()) {
    const size_t index = buffer->used.fetch_add(1);
    if (index < buffer->samples.size()) {
      const auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
      const auto pc = static_cast<uint64_t>(machine->gregs[REG_RIP]);
      auto frame = static_cast<uint64_t>(machine->gregs[REG_RBP]);
#elif defined(__aarch64__)
      const uint64_t pc = machine->pc;
      uint64_t frame = machine->regs[29];
#else
#error "no stack walk for this processor"
#endif
      Sample& sample = buffer->samples[index];
      uint32_t depth = 0;
      sample.addresses[depth++] = pc;
      while (depth < kMaxDepth && frame != 0 && frame % 8 == 0) {
        uint64_t words[2] = {};  // the caller's frame, the return address
        if (!ReadFrame(frame, words) || words[1] == 0) break;
        sample.addresses[depth++] = words[1];
        if (words[0] <= frame) break;  // stacks grow down: callers are above
        frame = words[0];
      }
      sample.depth.store(depth, std::memory_order_release);
    }
  }
  inside.fetch_sub(1);
  errno = saved_errno;
}

void SetTimer(int64_t nanos) {
  const itimerval timer = {.it_interval = {.tv_sec = 0, .tv_usec = nanos / 1000},
                           .it_value = {.tv_sec = 0, .tv_usec = nanos / 1000}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

// Protocol buffer fields by hand: one message type is not worth a generated file.
class Message {
 public:
  void Varint(int field, uint64_t value) {
    Raw(static_cast<uint64_t>(field) << 3);
    Raw(value);
  }
  void Bytes(int field, std::string_view bytes) {
    Raw(static_cast<uint64_t>(field) << 3 | 2);
    Raw(bytes.size());
    out_ += bytes;
  }
  void Packed(int field, const std::vector<uint64_t>& values) {
    Message inner;
    for (uint64_t value : values) inner.Raw(value);
    Bytes(field, inner.out_);
  }
  const std::string& text() const { return out_; }

 private:
  void Raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string file;
};

std::vector<Mapping> ExecutableMappings() {
  std::vector<Mapping> out;
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    Mapping m;
    char permissions[8] = {};
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %lx %*s %*s %n", &m.start, &m.end, permissions,
                    &m.offset, &path_at) < 4 ||
        std::strchr(permissions, 'x') == nullptr) {
      continue;
    }
    if (path_at > 0 && static_cast<size_t>(path_at) < line.size()) {
      m.file = line.substr(static_cast<size_t>(path_at));
    }
    out.push_back(std::move(m));
  }
  return out;
}

// Field numbers: google/pprof, proto/profile.proto.
class ProfileWriter {
 public:
  ProfileWriter() { Text(""); }

  std::string Write(const Buffer& buffer, WallTime started, Duration duration) {
    AddValueType(1, "samples", "count");
    AddValueType(1, "cpu", "nanoseconds");
    std::map<std::vector<uint64_t>, uint64_t> counts;
    const size_t n = std::min(buffer.used.load(), buffer.samples.size());
    for (size_t i = 0; i < n; ++i) {
      const Sample& sample = buffer.samples[i];
      const uint32_t depth = sample.depth.load(std::memory_order_acquire);
      if (depth == 0) continue;
      std::vector<uint64_t> stack(sample.addresses, sample.addresses + depth);
      // A return address is behind its call, perhaps in the next function.
      for (size_t k = 1; k < stack.size(); ++k) --stack[k];
      ++counts[std::move(stack)];
    }
    for (const auto& [stack, count] : counts) {
      std::vector<uint64_t> locations;
      for (uint64_t address : stack) locations.push_back(Location(address));
      Message sample;
      sample.Packed(1, locations);
      sample.Packed(2, {count, count * kPeriodNanos});
      profile_.Bytes(2, sample.text());
    }
    for (size_t i = 0; i < mappings_.size(); ++i) {
      Message mapping;
      mapping.Varint(1, i + 1);
      mapping.Varint(2, mappings_[i].start);
      mapping.Varint(3, mappings_[i].end);
      mapping.Varint(4, mappings_[i].offset);
      mapping.Varint(5, Text(mappings_[i].file));
      profile_.Bytes(3, mapping.text());
    }
    profile_.Varint(9, static_cast<uint64_t>(started.time_since_epoch().count()));
    profile_.Varint(10, static_cast<uint64_t>(duration.count()));
    AddValueType(11, "cpu", "nanoseconds");
    profile_.Varint(12, kPeriodNanos);
    for (const std::string& text : texts_) profile_.Bytes(6, text);
    return profile_.text();
  }

 private:
  void AddValueType(int field, const char* type, const char* unit) {
    Message value;
    value.Varint(1, Text(type));
    value.Varint(2, Text(unit));
    profile_.Bytes(field, value.text());
  }

  uint64_t Text(const std::string& text) {
    const auto [it, added] = text_ids_.try_emplace(text, texts_.size());
    if (added) texts_.push_back(text);
    return it->second;
  }

  uint64_t Location(uint64_t address) {
    const auto [it, added] = locations_.try_emplace(address, locations_.size() + 1);
    if (!added) return it->second;
    Message location;
    location.Varint(1, it->second);
    for (size_t i = 0; i < mappings_.size(); ++i) {
      if (address < mappings_[i].start || address >= mappings_[i].end) continue;
      location.Varint(2, i + 1);
      break;
    }
    location.Varint(3, address);
    profile_.Bytes(4, location.text());
    return it->second;
  }

  const std::vector<Mapping> mappings_ = ExecutableMappings();
  Message profile_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint64_t> text_ids_;
  std::unordered_map<uint64_t, uint64_t> locations_;
};

}  // namespace

Result<std::unique_ptr<CpuProfiler>> CpuProfiler::Start(Duration limit) {
  if (owned.exchange(true)) {
    // runtime/pprof StartCPUProfile.
    return Status(Code::kAborted, "cpu profiling already in use");
  }
  const auto ticks = static_cast<size_t>(std::max<int64_t>(1, limit.count() / kPeriodNanos + 1));
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  current.store(new Buffer(std::min(kMaxSamples, ticks * processors)));
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGPROF, &action, nullptr);
  std::unique_ptr<CpuProfiler> profiler(new CpuProfiler);
  profiler->started_wall_ = SystemClock().WallNow();
  profiler->started_ = SystemClock().Now();
  SetTimer(kPeriodNanos);
  return profiler;
}

CpuProfiler::~CpuProfiler() {
  if (!running_) return;
  Stop();
  delete current.exchange(nullptr);
  owned.store(false);
}

void CpuProfiler::Stop() {
  running_ = false;
  SetTimer(0);
  // A signal may still be on its way: its default action would end the process.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPROF, &ignore, nullptr);
  while (inside.load() != 0) std::this_thread::yield();
}

std::string CpuProfiler::Finish() {
  const Duration duration = SystemClock().Now() - started_;
  Stop();
  const std::unique_ptr<Buffer> buffer(current.exchange(nullptr));
  std::string out = ProfileWriter().Write(*buffer, started_wall_, duration);
  owned.store(false);
  return out;
}

}  // namespace csinative::serve
