// The tuner in a browser: writes its page, or serves it on this machine.
#include <cstdint>
#include <cstdio>
#include <optional>

#include "cli/command.h"
#include "cli/usage.h"
#include "core/count_text.h"
#include "core/error.h"
#include "web/exchange/winners.h"
#include "web/page/page_files.h"
#include "web/page/server.h"

namespace rooftile {
namespace {

struct WebArguments {
  std::string folder;
  std::uint16_t port = 8017;
  bool serve = false;
};

/// The page with the winners of the database that --db names; without --db it begins with none, so
/// that no measurement leaves this machine by accident.
std::vector<web::PageFile> files_of_page(const Globals& globals) {
  std::optional<Store> store;
  if (!globals.db.empty())
    store.emplace(globals.database(),
                  StoreOptions{.mode = OpenMode::kReadOnly, .named = " with --db"});
  const nlohmann::json known = web::known_kernels(store ? &*store : nullptr, ROOFTILE_VERSION);
  if (store)
    fmt::print("tried first: {} of {}\n", count_text(known.at("known").size(), "winner"),
               store->path().string());
  return web::page_files(web::assets_folder(), known.dump());
}

int run(const Globals& globals, const WebArguments& arguments) {
  if (arguments.folder.empty() && !arguments.serve)
    fail(ErrorCode::kInvalidArgument, "rooftile web needs -o FOLDER or --serve");
  const std::vector<web::PageFile> files = files_of_page(globals);
  if (!arguments.folder.empty()) {
    web::write_page(files, arguments.folder);
    fmt::print("{}: {}; any web server shows them\n", arguments.folder,
               count_text(files.size(), "file"));
  }
  if (!arguments.serve) return kDone;
  web::serve_page(files, arguments.port, stop_on_signals(), [](std::uint16_t port) {
    fmt::print("http://127.0.0.1:{}/ (end with Ctrl-C)\n", port);
    std::fflush(stdout);
  });
  return kDone;
}

}  // namespace

void add_web(CLI::App& app, const Globals& globals, Action& action) {
  CLI::App* command =
      app.add_subcommand("web", "Write the page that tunes a GPU in a browser by WebGPU");
  static WebArguments arguments;
  add_file(*command, "-o,--output", arguments.folder, "The folder that gets the page")
      ->type_name("FOLDER");
  CLI::Option* serve = command->add_flag(
      "--serve", arguments.serve, "Serve the page on 127.0.0.1, for browsers of this machine only");
  command
      ->add_option("--port", arguments.port, "The port of --serve; 0: any free one (default 8017)")
      ->check(whole_number(0, 65535))
      ->type_name("PORT")
      ->needs(serve);
  command->footer(
      "With --db the fastest kernels of that database are in the page, to be tried first.\n"
      "Examples:\n  rooftile web --serve\n  rooftile web -o page\n"
      "  rooftile db import rooftile-results.json");
  command->callback([&] { action = [&] { return run(globals, arguments); }; });
}

}  // namespace rooftile
