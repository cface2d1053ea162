#include "tuner/worker/executables_json.h"

#include "core/json_whole.h"
#include "db/tables/records.h"

namespace rooftile {

using Json = JsonValue;

Json to_json(const std::vector<CompiledExecutable>& executables) {
  Json all = Json::array();
  for (const CompiledExecutable& executable : executables) {
    Json texts = Json::array();
    for (const CompilerText& text : executable.texts)
      texts.push_back(
          {{"name", text.name}, {"description", text.description}, {"text", text.text}});
    all.push_back({{"name", executable.name},
                   {"description", executable.description},
                   {"subgroup_size", executable.subgroup_size},
                   {"statistics", statistics_json(executable.statistics)},
                   {"texts", std::move(texts)}});
  }
  return all;
}

std::vector<CompiledExecutable> executables_from_json(const Json& json) {
  std::vector<CompiledExecutable> all;
  for (const Json& entry : json) {
    all.push_back({.name = entry.at("name"),
                   .description = entry.at("description"),
                   .subgroup_size = whole(entry, "subgroup_size"),
                   .statistics = parse_statistics(entry.at("statistics").get<std::string>()),
                   .texts = {}});
    for (const Json& text : entry.at("texts"))
      all.back().texts.push_back({.name = text.at("name"),
                                  .description = text.at("description"),
                                  .text = text.at("text")});
  }
  return all;
}

}  // namespace rooftile
