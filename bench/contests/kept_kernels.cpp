#include "bench/contests/kept_kernels.h"

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include "bench/contests/compilers.h"
#include "bench/contests/machine_code.h"
#include "bench/contests/program.h"
#include "core/device_kinds.h"
#include "core/error.h"
#include "generator/compile.h"
#include "generator/emit.h"
#include "runtime/device/device.h"
#include "runtime/kernel/staging.h"

namespace rooftile {
namespace {

std::string text_of(const std::vector<CompiledExecutable>& executables) {
  std::string text;
  for (const CompiledExecutable& executable : executables) {
    text += fmt::format("=== {}: {}, subgroups of {}\n", executable.name, executable.description,
                        executable.subgroup_size);
    for (const CompilerStatistic& statistic : executable.statistics)
      text += std::visit([&](auto value) { return fmt::format("{}: {}\n", statistic.name, value); },
                         statistic.value);
    for (const CompilerText& representation : executable.texts)
      text += fmt::format("--- {}\n{}\n", representation.name, representation.text);
  }
  return text;
}

class Folder {
 public:
  Folder(const DeviceProfile& profile, const std::filesystem::path& folder,
         std::uint64_t most_bytes)
      : device_(Device::open(profile, {.compiler_statistics = CompilerStatistics::kKeepWithTexts})),
        folder_(folder),
        left_bytes_(most_bytes) {
    std::error_code exists;
    std::filesystem::create_directories(folder, exists);
    table_.emplace(folder / "kernels.csv", "problem,kernel,hash,cache_bytes,note");
  }

  /// Thread-safe.
  void add(const Variant& kernel, const Problem& problem) {
    std::string hash, note;
    std::optional<std::size_t> kept_bytes;
    try {
      if (const auto why = why_illegal(kernel, device_->profile().limits, problem))
        fail(ErrorCode::kUnsupported, "is illegal here: {}", *why);
      const Signature signature = signature_of(staged_problem(problem));
      hash = emit_gemm(kernel, signature).hash;  // as in the database
      if (is_new(hash)) note = keep(emit_gemm(kernel, signature), hash, kept_bytes);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;
      note = error.what();
    }
    const std::lock_guard lock(mutex_);
    table_->add(fmt::format("{},{},{},{},{}", to_string(problem), to_string(kernel), hash,
                            kept_bytes ? std::to_string(*kept_bytes) : "", quoted(note)));
    if (!note.empty()) fmt::print("{}, {}: {}\n", to_string(problem), short_name(kernel), note);
  }

 private:
  bool is_new(const std::string& hash) {
    const std::lock_guard lock(mutex_);
    return hashes_.insert(hash).second;
  }
  /// Sets the size of the cache once it is kept, and returns what is missing.
  std::string keep(const Shader& shader, const std::string& hash,
                   std::optional<std::size_t>& kept_bytes) {
    const std::vector<std::uint32_t> spirv = compile(shader);
    std::string cache;
    device_->create_pipeline(spirv, shader.interface, &cache);
    const std::string text =
        text_of(device_->create_pipeline(spirv, shader.interface).executables());
    {
      const std::lock_guard lock(mutex_);
      if (cache.size() + text.size() > left_bytes_)
        return fmt::format("no room for its {} B", cache.size() + text.size());
      left_bytes_ -= cache.size() + text.size();
    }
    write_file(hash, "cache", cache);
    kept_bytes = cache.size();
    if (!text.empty()) write_file(hash, "txt", text);
    if (device_->profile().vendor_id != kNvidia) return "";
    write_file(hash, "bin", machine_code(cache));
    return "";
  }
  void write_file(const std::string& hash, std::string_view kind, std::string_view content) const {
    const std::filesystem::path path = folder_ / fmt::format("{}.{}", hash, kind);
    std::ofstream file(path, std::ios::binary);
    if (!file.write(content.data(), static_cast<std::streamsize>(content.size())).flush())
      fail(ErrorCode::kIo, "cannot write {}", path.string());
  }

  std::shared_ptr<Device> device_;
  std::filesystem::path folder_;
  std::mutex mutex_;  // guards what follows
  std::uint64_t left_bytes_;
  std::set<std::string> hashes_;
  std::optional<CsvFile> table_;
};

}  // namespace

void keep_kernels(const DeviceProfile& profile, const std::vector<Experiment>& experiments,
                  const std::filesystem::path& folder, unsigned threads, std::uint64_t most_bytes) {
  Folder kept(profile, folder, most_bytes);
  std::atomic<std::size_t> next = 0;
  std::vector<std::future<void>> workers;
  for (unsigned i = 0; i < threads; ++i)
    workers.push_back(std::async(std::launch::async, [&] {
      for (std::size_t at = next++; at < 2 * experiments.size(); at = next++) {
        const Experiment& one = experiments[at / 2];
        kept.add(at % 2 == 0 ? one.baseline : one.variant, one.problem);
      }
    }));
  for (std::future<void>& worker : workers) worker.get();
}

}  // namespace rooftile
