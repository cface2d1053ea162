#include "formats/csv_export.h"

#include <fmt/format.h>

namespace rooftile {
namespace {

constexpr std::string_view kColumns =
    "device,device_uuid,driver,type,trans_a,trans_b,m,n,k,batch,lda,ldb,ldc,stride_a,stride_b,"
    "stride_c,epilogue,alpha,beta,experts,groups,largest,status,kernel_ns,kernel_mad_ns,kernel_low_"
    "ns,kernel_high_ns,"
    "pack_ns,compile_ns,runs,level,retaken,noisy,purpose,at,run,origin,detail,kernel";

class Line {
 public:
  template <typename... Values>
  void add(const Values&... values) {
    (cell(values), ...);
  }
  std::string text() && { return std::move(text_) + "\n"; }

 private:
  template <typename Value>
  void cell(const Value& value) {
    if (!text_.empty()) text_ += ',';
    if constexpr (std::is_arithmetic_v<Value>)
      text_ += fmt::format("{}", value);
    else
      text_ += csv_cell(value);
  }
  std::string text_;
};

std::string line_of(const StoredRow& row, const DeviceProfile& device) {
  const Problem& p = row.problem;
  const SampleRecord& s = row.sample.sample;
  Line line;
  // An empty first cell would look like no cell at all.
  line.add(device.name.empty() ? std::string("unnamed device") : device.name, device.device_uuid,
           device.driver_info, to_string(p.types), std::string(1, letter(p.trans_a)),
           std::string(1, letter(p.trans_b)), p.m, p.n, p.k, p.batch, p.lda, p.ldb, p.ldc,
           p.stride_a, p.stride_b, p.stride_c, to_string(p.epilogue), p.alpha, p.beta,
           p.grouping.experts, p.grouping.groups, p.grouping.largest, name(s.status));
  if (s.status == SampleStatus::kMeasured)
    line.add(s.kernel.median_ns, s.kernel.mad_ns, s.kernel.low_ns, s.kernel.high_ns, s.pack_ns);
  else
    line.add("", "", "", "", "");
  line.add(s.compile_ns, s.kernel.count, s.level, s.retaken, s.noisy, name(s.purpose),
           row.sample.at, row.sample.run_key, row.sample.origin, s.detail, row.sample.hash);
  for (const auto& [parameter, value] : parameters(row.variant)) line.add(value);
  return std::move(line).text();
}

}  // namespace

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::size_t export_csv(const Store& store, const RowFilter& filter, const Buffered::Write& write) {
  std::vector<DeviceProfile> profiles(filter.devices.size());
  for (const DeviceRecord& record : store.devices())
    for (std::size_t i = 0; i < profiles.size(); ++i)
      if (record.id == filter.devices[i]) profiles[i] = record.profile;
  Buffered out(write);
  out.add(kColumns);
  for (const std::string& parameter : parameter_names()) out.add("," + parameter);
  out.add("\n");
  const std::size_t rows = for_each_row(
      store, filter, [&](const StoredRow& row) { out.add(line_of(row, profiles[row.device])); });
  out.flush();
  return rows;
}

}  // namespace rooftile
