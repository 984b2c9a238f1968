#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

extern char** environ;  // NOLINT(readability-identifier-naming)

namespace solmark {
namespace {

// Keeps the first and the last half of the limit, whatever the volume.
class OutputKeeper {
 public:
  explicit OutputKeeper(std::size_t limit) : half_(limit / 2) {}
  void add(const char* data, std::size_t size) {
    std::lock_guard lock(mutex_);
    std::size_t to_head = std::min(size, half_ - std::min(half_, head_.size()));
    head_.append(data, to_head);
    tail_.append(data + to_head, size - to_head);
    if (tail_.size() > 2 * half_) {
      left_out_ += tail_.size() - half_;
      tail_.erase(0, tail_.size() - half_);
    }
  }
  std::string text() const {
    std::lock_guard lock(mutex_);
    std::string tail = tail_;
    std::size_t left_out = left_out_;
    if (tail.size() > half_) {
      left_out += tail.size() - half_;
      tail.erase(0, tail.size() - half_);
    }
    if (left_out == 0) return head_ + tail;
    return fmt::format("{}\n[... {} bytes left out ...]\n{}", head_, left_out, tail);
  }

 private:
  std::size_t half_;
  mutable std::mutex mutex_;
  std::string head_;
  std::string tail_;
  std::size_t left_out_ = 0;
};

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* argv, char* const* env, const char* folder, int output, const int* from,
                         const int* to, std::size_t count, std::size_t core_limit) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  struct rlimit core{core_limit, core_limit};
  setrlimit(RLIMIT_CORE, &core);
  int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  // Move our descriptors out of the way of the numbers wanted, then into place.
  int parked[16];
  int highest = 2;
  for (std::size_t i = 0; i < count; ++i) {
    parked[i] = fcntl(from[i], F_DUPFD, 200);
    highest = std::max(highest, to[i]);
  }
  for (std::size_t i = 0; i < count; ++i) dup2(parked[i], to[i]);
  bool wanted[200] = {};
  for (std::size_t i = 0; i < count; ++i) wanted[to[i]] = true;
  for (int fd = 3; fd < 200; ++fd) {
    if (!wanted[fd]) close(fd);
  }
  syscall(SYS_close_range, 200U, ~0U, 0U);
  if (folder != nullptr && chdir(folder) != 0) _exit(126);
  execvpe(argv[0], argv, env);
  const char* text = "cannot be executed\n";
  ssize_t ignored = write(2, text, strlen(text));
  (void)ignored;
  _exit(127);
}

}  // namespace

std::string ExitState::text() const {
  if (!signalled) return fmt::format("exited with code {}", code);
  const char* name = strsignal(code);
  return fmt::format("was killed by signal {} ({})", code, name == nullptr ? "unknown" : name);
}

struct Child::State {
  pid_t pid = -1;
  Fd pidfd;
  std::optional<ExitState> ended;
  OutputKeeper keeper;
  std::atomic<bool> stop{false};
  std::thread reader;

  explicit State(std::size_t limit) : keeper(limit) {}
  void reap(int status) {
    if (WIFSIGNALED(status)) {
      ended = ExitState{true, WTERMSIG(status)};
    } else {
      ended = ExitState{false, WEXITSTATUS(status)};
    }
  }
};

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child&&) noexcept = default;
Child& Child::operator=(Child&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Result<Child> Child::spawn(const SpawnSpec& spec) {
  if (spec.descriptors.size() > 16) return internal_error("too many descriptors for a child");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make a pipe", errno);
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  std::vector<std::string> env_text;
  for (const auto& [name, value] : spec.environment) env_text.push_back(name + "=" + value);
  std::vector<char*> env;
  for (auto& text : env_text) env.push_back(text.data());
  env.push_back(nullptr);
  std::vector<std::string> args = spec.argv;
  std::vector<char*> argv;
  for (auto& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  std::vector<int> from;
  std::vector<int> to;
  for (auto [ours, theirs] : spec.descriptors) {
    if (theirs < 3 || theirs >= 200) return internal_error("a child's descriptor number must be in [3, 200)");
    from.push_back(ours);
    to.push_back(theirs);
  }
  std::string folder = spec.folder.string();
  auto state = std::make_unique<State>(spec.output_limit);
  pid_t pid = fork();
  if (pid < 0) return errno_error("cannot fork", errno);
  if (pid == 0) {
    become(argv.data(), env.data(), folder.empty() ? nullptr : folder.c_str(), write_end.get(), from.data(),
           to.data(), from.size(), spec.core_limit_bytes);
  }
  setpgid(pid, pid);
  state->pid = pid;
  state->pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  write_end.reset();
  // A descendant that left the process group may hold the pipe open for ever: the reader also ends on `stop`.
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  state->reader = std::thread([end = std::move(read_end), s = state.get()]() {
    char chunk[16384];
    for (;;) {
      ssize_t got = read(end.get(), chunk, sizeof chunk);
      if (got > 0) {
        s->keeper.add(chunk, static_cast<std::size_t>(got));
        continue;
      }
      if (got == 0 || (errno != EAGAIN && errno != EINTR) || s->stop) return;
      struct pollfd p{end.get(), POLLIN, 0};
      poll(&p, 1, 50);
    }
  });
  return Child(std::move(state));
}

Child::~Child() {
  if (state_ == nullptr) return;
  kill();
}

bool Child::running() {
  if (state_->ended) return false;
  int status = 0;
  pid_t got = waitpid(state_->pid, &status, WNOHANG);
  if (got == state_->pid) state_->reap(status);
  return !state_->ended;
}

Result<ExitState> Child::wait(std::chrono::milliseconds limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (running()) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return timeout_error(fmt::format("process did not end within {} ms", limit.count()));
    if (state_->pidfd.valid()) {
      struct pollfd p{state_->pidfd.get(), POLLIN, 0};
      poll(&p, 1, static_cast<int>(std::min<long>(left, 1000)));
    } else {  // a kernel without pidfd
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min<long>(left, 2)));
    }
  }
  return *state_->ended;
}

void Child::kill() {
  if (state_->pid > 0) ::kill(-state_->pid, SIGKILL);
  if (!state_->ended) {
    ::kill(state_->pid, SIGKILL);
    int status = 0;
    while (waitpid(state_->pid, &status, 0) < 0 && errno == EINTR) {
    }
    state_->reap(status);
  }
  state_->stop = true;
  if (state_->reader.joinable()) state_->reader.join();
}

std::string Child::output() const { return state_->keeper.text(); }
int Child::pid() const { return state_->pid; }

std::map<std::string, std::string> current_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    if (auto eq = text.find('='); eq != std::string::npos) out[text.substr(0, eq)] = text.substr(eq + 1);
  }
  return out;
}

}  // namespace solmark
